// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of experts, whose number a kernel finds out.
#pragma once

#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// The number at `pointer`, of the rows that are called `name`.
Value rowsAt(FunctionPlan &plan, StringRef name, Value pointer);

} // namespace attn::planning
