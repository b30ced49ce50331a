// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `resize`: features at another height and width.
#ifndef ATTN_COMPILER_FRONTEND_SEMA_RESIZE_H
#define ATTN_COMPILER_FRONTEND_SEMA_RESIZE_H

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// `resize`: a picture of features at another size.
SemaValue callResize(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SEMA_RESIZE_H
