// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows to experts, the layers of a stack.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// `route(experts, x, places, weights)`: for each row of x, the weighted sum of what the experts at
/// its places make of it.
SemaValue callRoute(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend
