// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, norms: of their own, and those of linears' inputs.
#include "compiler/transforms/plan/Norm.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"

using namespace mlir;

namespace attn::planning {

FailureOr<NormRows> normRows(FunctionPlan &plan, Operation *op, Value input, const RowNorm &norm) {
  auto rows =
      readRows(plan, op, viewOf(plan, input), typeOf(input), typeOf(input).getRank() - norm.axes);
  if (failed(rows))
    return failure();
  auto flat = [&](Value tensor) {
    if (!tensor)
      return Value();
    BufferView view = viewOf(plan, tensor);
    return memrefOf(plan, view, atLeastOne(view.collapsed(0, norm.axes)));
  };
  Value weight = flat(norm.weight);
  return NormRows{*rows, weight, flat(norm.bias)};
}

LogicalResult emitNorm(FunctionPlan &plan, Operation *op, Value input, const RowNorm &norm,
                       const BufferView &out) {
  auto rows = normRows(plan, op, input, norm);
  auto result = rowsAndColumns(plan, op, out, typeOf(input).getRank() - norm.axes);
  if (failed(rows) || failed(result))
    return failure();
  NormKernelOp::create(plan.builder, op->getLoc(), rows->input, rows->weight, rows->bias, *result,
                       norm.norm);
  KernelCost cost = KernelCost::ofNorm(typeOf(input), norm);
  cost.bytes = cost.bytes - savedBytes(typeOf(input), out.element());
  barrier(plan, op, cost);
  return success();
}

LogicalResult emit(FunctionPlan &plan, NormOp op) {
  return emitNorm(plan, op, op.getInput(), RowNorm::of(op), outputOf(plan, op.getResult()));
}

} // namespace attn::planning
