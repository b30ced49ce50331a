// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `pack`, `first`, `last` and `relabel`: ops that move, take or rename axes.
#ifndef ATTN_COMPILER_FRONTEND_SEMA_REARRANGE_H
#define ATTN_COMPILER_FRONTEND_SEMA_REARRANGE_H

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// The axis of `value` that an argument names, of which `function` takes something; -1 and reported
/// where there is none. `place` is where the tensor is given.
int namedAxis(Sema &sema, const ast::Expr &expr, mlir::Value value, const ast::Expr &place,
              llvm::StringRef function);

/// Whether a call of (axis, tensor) has them the other way round, which is reported.
bool isSwapped(Sema &sema, const ast::CallExpr &call, llvm::StringRef name);

/// `first` and `last`.
SemaValue callEnd(Sema &sema, const ast::CallExpr &call, llvm::StringRef name);

/// The first element of an axis, or the last.
SemaValue takeEnd(Sema &sema, mlir::Value value, int at, bool isLast, SourceRange place);

/// `relabel(x, A as B)`.
SemaValue callRelabel(Sema &sema, const ast::CallExpr &call);

/// `pack(x, axis)`.
SemaValue callPack(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SEMA_REARRANGE_H
