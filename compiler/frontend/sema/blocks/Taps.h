// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named intermediates as further results. Without FrontendOptions::taps nothing here does anything.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Makes the tensors that a `let` names taps.
void tapLet(Sema &sema, const ast::LetStmt &let);

/// The callee's taps are the caller's too, `name` before theirs.
void tapCall(Sema &sema, const Instance &instance, mlir::func::CallOp call,
             const llvm::Twine &name);

/// Ends `function` with its results and its taps.
void buildReturn(Sema &sema, mlir::func::FuncOp function, SourceRange range,
                 std::vector<mlir::Value> results);

} // namespace attn::frontend
