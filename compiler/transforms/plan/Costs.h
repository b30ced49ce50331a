// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels cost, as profiles show it, and the barriers behind them, which name it.
#pragma once

#include "compiler/transforms/KernelCost.h"
#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// What a tensor takes less than its type says, as its elements are `stored`.
SizePolynomial savedBytes(RankedTensorType type, Type stored);

/// Of the kernel that an op becomes: of fewer bytes than types say where elements are stored
/// narrower. `read`: operands of which the kernel reads a copy of another element.
KernelCost costOf(FunctionPlan &plan, ComputeOpInterface op,
                  ArrayRef<std::pair<Value, Type>> read = {});

/// A barrier after a kernel that an op has become.
void barrier(FunctionPlan &plan, Operation *op, const KernelCost &cost);

/// The same, where it is the one that the op becomes.
inline void barrier(FunctionPlan &plan, ComputeOpInterface op) {
  barrier(plan, op, costOf(plan, op));
}

} // namespace attn::planning
