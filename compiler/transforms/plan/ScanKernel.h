// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recurrences that are one kernel.
#pragma once

#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// Whether a recurrence becomes one kernel, which goes through all steps of a piece of its states.
/// Its body has to compute elements one by one, or combine those of one axis.
bool isOneKernel(FunctionPlan &plan, ScanOp op);

/// Plans a recurrence that is one kernel.
LogicalResult emitAsOneKernel(FunctionPlan &plan, ScanOp op);

} // namespace attn::planning
