// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function on tensors becomes one on pointers.
#pragma once

#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// Builds the ops of the function on pointers. Functions that it calls have been planned. Errors
/// are reported at the ops of the one on tensors.
LogicalResult planFunction(ModulePlan &module, func::FuncOp source);

/// Plans the ops of a block, but for its terminator, where the builder stands.
LogicalResult emitBlock(FunctionPlan &plan, Block &block);

} // namespace attn::planning
