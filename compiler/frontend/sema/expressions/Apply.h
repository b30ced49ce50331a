// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is applied to a tensor: linear maps, norms and all that a call can name.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Whether a call has from `least` to `most` arguments, none of them by name; says so, with
/// `usage`, where it has not.
bool plainArguments(Reporter &report, const ast::CallExpr &call, llvm::StringRef name,
                    unsigned least, unsigned most, llvm::StringRef usage);

/// What a call gives: of a linear map, norm, embedding, stack, part, block or function.
SemaValue evalCall(Sema &sema, const ast::CallExpr &call);

/// `decl` of `input`, which is what `call`'s argument is; null after an error.
mlir::Value applyLinear(Sema &sema, Decl &decl, const ast::CallExpr &call, mlir::Value input);

} // namespace attn::frontend
