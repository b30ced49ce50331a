// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types of a linear kernel's buffers to a LinearShape, with an error where panels do not fit.
#include "compiler/kernels/LinearShape.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

FailureOr<LinearShape> LinearShape::of(LinearKernelOp op, bool readsRounded, int64_t width) {
  bool takesRounded = op.getRounded() && readsRounded;
  Value rows = takesRounded ? op.getRounded() : op.getInput();
  int64_t contract = takesRounded ? 1 : static_cast<int64_t>(op.getContract());
  auto shape = of(op, rows, op.getPanels(), op.getPrecision(), op.getOut(), contract, width);
  if (succeeded(shape))
    shape->keepsSums &= !op.getInPlace();
  return shape;
}

FailureOr<LinearShape> LinearShape::of(Operation *op, Value input, Value panels,
                                       Precision precision, Value out, int64_t contract,
                                       int64_t width) {
  auto in = cast<MemRefType>(input.getType()), result = cast<MemRefType>(out.getType()),
       packed = cast<MemRefType>(panels.getType());
  if (contract < 1 || contract >= in.getRank())
    return op->emitOpError("expected to contract 1 to ")
           << in.getRank() - 1 << " dims, but got " << contract;
  LinearShape shape;
  shape.rows = input;
  shape.n = result.getRank() < 2 ? ShapedType::kDynamic : result.getShape().back();
  shape.ks.assign(in.getShape().end() - contract, in.getShape().end());
  if (ShapedType::isDynamic(shape.n) || ShapedType::isDynamicShape(shape.ks))
    return op->emitOpError("expected columns and contracted dims of static size, but got ")
           << in << " and " << result;
  for (int64_t size : shape.ks)
    shape.k *= size;
  shape.width = width;
  shape.panels = llvm::divideCeil(shape.n, width);
  shape.precision = precision;
  shape.isWidened = shape.format().isHalf() && in.getElementType().isF32();
  shape.keepsSums = result.getElementType().isF32();
  if (shape.ks.back() % shape.format().rowGranule() != 0)
    return op->emitOpError("expected a multiple of ")
           << shape.format().rowGranule() << " contracted elements for panels of "
           << packed.getElementType() << ", but got " << in;
  int64_t elements = paddedColumns(shape.n, panelWidth) * shape.panelSteps() * shape.words();
  if (packed.getRank() != 1 || packed.getDimSize(0) != elements)
    return op->emitOpError("expected panels of ") << elements << " elements, but got " << packed;
  return shape;
}

int64_t LinearShape::depth(int64_t most, int64_t unroll) const {
  int64_t parts = llvm::divideCeil(steps(), most), all = steps(0);
  int64_t each = llvm::divideCeil(all, parts);
  return ks.size() > 1 ? each : std::min(all, int64_t(llvm::alignTo(each, unroll)));
}
