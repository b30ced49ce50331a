// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of linears' inputs in bf16, in halves or as bytes.
#include "compiler/transforms/plan/NarrowRows.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Elements.h"
#include "compiler/transforms/plan/Norm.h"
#include "compiler/transforms/plan/Operands.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attn::planning {

/// Halves in 16 bytes, at whose multiples GPUs' copies of boxes ask rows to begin.
constexpr int64_t halfRowGranule = 8;

bool hasHalfRows(const BufferView &view, int64_t rowAxes, Type half) {
  SmallVector<Atom> rows = view.collapsed(0, rowAxes),
                    columns = view.collapsed(rowAxes, view.axes.size());
  auto isAligned = [](const SizePolynomial &elements) {
    return elements.isConstant() && elements.constant() % halfRowGranule == 0;
  };
  return view.element() == half && rows.size() <= 1 && columns.size() == 1 &&
         columns[0].stride == SizePolynomial(1) && isAligned(view.offset) &&
         (rows.empty() || isAligned(rows[0].stride));
}

FailureOr<Value> halfRows(FunctionPlan &plan, LinearOp op, const BufferView &input) {
  RankedTensorType type = typeOf(op.getInput());
  int64_t contract = op.getContract();
  int64_t k = ShapedType::getNumElements(type.getShape().take_back(contract));
  BufferView rows = pitchedRows(plan, type, contract, llvm::alignTo(k, halfRowGranule), 0,
                                plan.module.keptHalf(), op);
  if (failed(copy(plan, op, input, rows)))
    return failure();
  return rowsAndColumns(plan, op, rows, type.getRank() - contract);
}

/// Rows behind the last one, since tile registers are read whole.
constexpr int64_t restOfTile = 15;

/// Bytes from one narrow row of a linear to the next: an odd number of cache lines, so that
/// neighbouring rows share no cache sets.
static int64_t narrowPitch(int64_t bytes) {
  constexpr int64_t line = 64;
  return (llvm::divideCeil(bytes, line) | 1) * line;
}

BufferView roundedRows(FunctionPlan &plan, RankedTensorType type, int64_t contract,
                       Operation *last) {
  int64_t k = ShapedType::getNumElements(type.getShape().take_back(contract));
  return pitchedRows(plan, type, contract, narrowPitch(2 * k) / 2, restOfTile,
                     plan.builder.getI16Type(), last);
}

static NarrowRows allocateNarrow(FunctionPlan &plan, LinearOp op, Precision precision) {
  RankedTensorType type = typeOf(op.getInput());
  bool areBytes = formatOf(precision).takesBytes();
  int64_t k = ShapedType::getNumElements(type.getShape().take_back(op.getContract()));
  int64_t pitch = areBytes ? narrowPitch(k) : narrowPitch(2 * k) / 2;
  int64_t lifted = type.getRank() - op.getContract();
  SizePolynomial count(1);
  for (int64_t d = 0; d < lifted; ++d)
    count = count * sizeOf(type, d);
  auto buffer = [&](const SizePolynomial &height, int64_t columns, Type element) {
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    return BufferView{
        plan.frame.take(height * SizePolynomial(columns * bytes), element, op), 0, {}};
  };
  auto view = [&](const BufferView &view, int64_t columns, int64_t pitch) {
    return memrefOf(plan, view, {Atom{count, pitch}, Atom{columns, 1}});
  };
  BufferView rows = buffer(count + SizePolynomial(restOfTile), pitch,
                           areBytes ? plan.builder.getI8Type() : plan.builder.getI16Type());
  int64_t columns = llvm::alignTo(k, areBytes ? formatOf(precision).rowGranule() : 1);
  // Scale and zero, and for offsets the sums of 32 bytes each, which GPUs add up where they
  // multiply.
  int64_t ranges = 2;
  if (formatOf(precision).hasOffsets && plan.module.placement().preparesRows)
    ranges += columns / scaleGroup;
  Value range =
      areBytes ? view(buffer(count, ranges, plan.builder.getF32Type()), ranges, ranges) : Value();
  return {view(rows, pitch, pitch), view(rows, columns, pitch), range};
}

FailureOr<NarrowRows> narrow(FunctionPlan &plan, LinearOp op, const BufferView &input,
                             Precision precision) {
  RankedTensorType type = typeOf(op.getInput());
  auto rows = readRows(plan, op, input, type, type.getRank() - op.getContract());
  if (failed(rows))
    return failure();
  NarrowRows narrow = allocateNarrow(plan, op, precision);
  if (formatOf(precision).takesBytes()) {
    QuantizeKernelOp::create(plan.builder, op.getLoc(), *rows, narrow.padded, narrow.range);
    barrier(plan, op, KernelCost::ofQuantization(type, input.element()));
  } else {
    RoundKernelOp::create(plan.builder, op.getLoc(), *rows, narrow.padded);
    barrier(plan, op, KernelCost::ofRounding(type));
  }
  return narrow;
}

FailureOr<NarrowRows> normedBytes(FunctionPlan &plan, LinearOp op, Precision precision) {
  RankedTensorType type = typeOf(op.getInput());
  auto norm = normRows(plan, op, op.getInput(), RowNorm::of(op));
  if (failed(norm))
    return failure();
  int64_t k = ShapedType::getNumElements(type.getShape().take_back(op.getContract()));
  Type element =
      areRounded(plan.module, op) ? Type(plan.builder.getI16Type()) : plan.builder.getF32Type();
  Value scratch = threadRows(plan, op, k, 0, element);
  NarrowRows narrow = allocateNarrow(plan, op, precision);
  NormBytesKernelOp::create(plan.builder, op.getLoc(), norm->input, norm->weight, norm->bias,
                            scratch, narrow.padded, narrow.range, op.getNormAttr());
  barrier(plan, op, KernelCost::ofNormedBytes(type, RowNorm::of(op)));
  return narrow;
}

} // namespace attn::planning
