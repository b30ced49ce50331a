// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an attention works in: as much as any of the kernels needs that may be made of it.
#pragma once

#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// A row for each thread, and where a head's keys are divided, what becomes of each part.
struct AttentionWork {
  Value scratch;               ///< [threads, floats]
  Value partials;              ///< [heads, parts, floats], or null: keys are not divided.
  SizePolynomial partialBytes; ///< Of `partials`.
};

/// The memory that a kernel on these buffers works in, until `op` has run. `states`: how many heads
/// there are; all buffers are [batch..., rows, last axis].
AttentionWork workOf(FunctionPlan &plan, AttentionOp op, const SizePolynomial &states, Value key,
                     Value value, Value out);

} // namespace attn::planning
