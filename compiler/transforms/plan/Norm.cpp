// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, layer norms: of their own, and those of linears' inputs.
#include "compiler/transforms/plan/Norm.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"

using namespace mlir;

namespace attn::planning {

FailureOr<NormRows> normRows(FunctionPlan &plan, Operation *op, Value input, Value gamma,
                             Value beta) {
  int64_t normed = typeOf(gamma).getRank();
  auto rows =
      readRows(plan, op, viewOf(plan, input), typeOf(input), typeOf(input).getRank() - normed);
  if (failed(rows))
    return failure();
  auto flat = [&](Value tensor) {
    BufferView view = viewOf(plan, tensor);
    return memrefOf(plan, view, atLeastOne(view.collapsed(0, normed)));
  };
  return NormRows{*rows, flat(gamma), flat(beta)};
}

LogicalResult emitNorm(FunctionPlan &plan, Operation *op, Value input, Value gamma, Value beta,
                       FloatAttr eps, const BufferView &out) {
  auto rows = normRows(plan, op, input, gamma, beta);
  auto result = rowsAndColumns(plan, op, out, typeOf(input).getRank() - typeOf(gamma).getRank());
  if (failed(rows) || failed(result))
    return failure();
  NormKernelOp::create(plan.builder, op->getLoc(), rows->input, rows->gamma, rows->beta, *result,
                       eps);
  KernelCost cost = KernelCost::ofNorm(typeOf(input), gamma);
  cost.bytes = cost.bytes - savedBytes(typeOf(input), out.element());
  barrier(plan, op, cost);
  return success();
}

LogicalResult emit(FunctionPlan &plan, LayerNormOp op) {
  return emitNorm(plan, op, op.getInput(), op.getGamma(), op.getBeta(), op.getEpsAttr(),
                  outputOf(plan, op.getResult()));
}

} // namespace attn::planning
