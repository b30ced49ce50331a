// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `pack`, `first`, `last`, `mean` and `relabel`: ops that move, take or rename axes.
#ifndef ATTN_COMPILER_FRONTEND_SEMA_REARRANGE_H
#define ATTN_COMPILER_FRONTEND_SEMA_REARRANGE_H

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// The position of the axis of `value` that `expr` names, whose `function` is asked for; -1 and
/// reported where there is none. `place` is where the value is written, which may be null.
int namedAxis(Sema &sema, const ast::Expr &expr, mlir::Value value, const ast::Expr &place,
              llvm::StringRef function);

/// The mean of `value`, which is written at `place`, along an axis whose size is known when
/// compiling; null and reported where there is none.
mlir::Value meanAlong(Sema &sema, const ast::Expr &along, mlir::Value value, const ast::Expr &place,
                      SourceRange written);

/// `first` and `last`.
SemaValue callEnd(Sema &sema, const ast::CallExpr &call, llvm::StringRef name);

/// The first element of an axis, or the last.
SemaValue takeEnd(Sema &sema, mlir::Value value, int at, bool isLast, SourceRange place);

/// `mean(axis, x)`.
SemaValue callMean(Sema &sema, const ast::CallExpr &call);

/// `relabel(x, A as B)`.
SemaValue callRelabel(Sema &sema, const ast::CallExpr &call);

/// `pack(x, axis)`.
SemaValue callPack(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SEMA_REARRANGE_H
