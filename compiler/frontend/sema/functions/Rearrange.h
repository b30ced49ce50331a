// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `pack`, `first`, `last`, `relabel` and `repeat`: ops that move, take, rename or add axes.
#pragma once

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

/// `value` with these axes: in their order, and repeated along those that it lacks.
mlir::Value spread(Sema &sema, mlir::Value value, llvm::ArrayRef<Axis> axes, mlir::Location loc);

/// `repeat(x, Y, X)`: x along further axes, behind its own.
SemaValue callRepeat(Sema &sema, const ast::CallExpr &call);

/// `pack(x, axis)`.
SemaValue callPack(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend
