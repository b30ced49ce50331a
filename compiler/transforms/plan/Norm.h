// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, of their own and of linears' inputs.
#pragma once

#include "compiler/transforms/KernelCost.h"
#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// What a norm reads: rows, weights and biases, null where there are none.
struct NormRows {
  Value input, weight, bias;
};

/// The operands of a norm of the last axes of `input`.
FailureOr<NormRows> normRows(FunctionPlan &plan, Operation *op, Value input, const RowNorm &norm);

/// The kernel of a norm of `input` to `out`.
LogicalResult emitNorm(FunctionPlan &plan, Operation *op, Value input, const RowNorm &norm,
                       const BufferView &out);

} // namespace attn::planning
