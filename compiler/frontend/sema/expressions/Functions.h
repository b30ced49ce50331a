// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that the language has.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// What `dropout(x, p)` is of; null and reported where that is wrong.
const ast::Expr *droppedOut(Sema &sema, const ast::CallExpr &call);

/// The names of all functions of the language.
std::vector<llvm::StringRef> functionNames();

/// A call of a function of the language, such as `softmax`.
SemaValue callBuiltin(Sema &sema, const ast::CallExpr &call, llvm::StringRef name);

} // namespace attn::frontend
