// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layer norms, of their own and of linears' inputs.
#pragma once

#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// What a norm reads: rows, gamma and beta.
struct NormRows {
  Value input, gamma, beta;
};

/// The operands of a norm of `input` over the axes of `gamma`, which are its last ones.
FailureOr<NormRows> normRows(FunctionPlan &plan, Operation *op, Value input, Value gamma,
                             Value beta);

/// The kernel of a norm of `input` to `out`.
LogicalResult emitNorm(FunctionPlan &plan, Operation *op, Value input, Value gamma, Value beta,
                       FloatAttr eps, const BufferView &out);

} // namespace attn::planning
