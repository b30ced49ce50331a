// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows to experts, the layers of a stack.
#ifndef ATTN_COMPILER_FRONTEND_SEMA_ROUTES_H
#define ATTN_COMPILER_FRONTEND_SEMA_ROUTES_H

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// `route(experts, x, places, weights)`: for each row of x, the weighted sum of what the experts at
/// its places make of it.
SemaValue callRoute(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SEMA_ROUTES_H
