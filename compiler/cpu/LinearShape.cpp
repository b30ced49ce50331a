// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/cpu/LinearShape.h"
#include "compiler/transforms/ParameterLayout.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

FailureOr<LinearShape> LinearShape::of(Operation *op, Value input, Value panels, Value out,
                                       int64_t contract) {
  auto in = cast<MemRefType>(input.getType()), result = cast<MemRefType>(out.getType()),
       packed = cast<MemRefType>(panels.getType());
  if (contract < 1 || contract >= in.getRank())
    return op->emitOpError("expected to contract 1 to ")
           << in.getRank() - 1 << " dims, but got " << contract;
  LinearShape shape;
  shape.n = result.getRank() < 2 ? ShapedType::kDynamic : result.getShape().back();
  shape.ks.assign(in.getShape().end() - contract, in.getShape().end());
  if (ShapedType::isDynamic(shape.n) || ShapedType::isDynamicShape(shape.ks))
    return op->emitOpError("expected columns and contracted dims of static size, but got ")
           << in << " and " << result;
  for (int64_t size : shape.ks)
    shape.k *= size;
  shape.panels = llvm::divideCeil(shape.n, panelWidth);
  int64_t elements = shape.panels * shape.k * panelWidth;
  if (packed.getRank() != 1 || packed.getDimSize(0) != elements)
    return op->emitOpError("expected panels of ") << elements << " elements, but got " << packed;
  return shape;
}

int64_t LinearShape::depth() const {
  constexpr int64_t most = 1280; // steps: 240 KB of weights
  int64_t least = llvm::divideCeil(k, most);
  for (int64_t parts = least; parts <= 2 * least; ++parts)
    if (ks.front() % parts == 0 && (ks.size() > 1 || ks.front() / parts % unroll() == 0))
      return ks.front() / parts;
  return ks.front();
}
