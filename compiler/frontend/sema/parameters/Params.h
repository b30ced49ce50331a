// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters: their types, and where their elements are in the checkpoint.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Computes the shapes of the parameters of a scope and makes each an attn.param.
void setUpParameters(Sema &sema, Scope &scope, const Owner &owner);

/// Reads a parameter where the function is built, that of the layer in a stack.
mlir::Value getParam(Sema &sema, const ParamRef &param, mlir::Location loc);

/// A parameter that is a tensor of the checkpoint, a part of a packed one, or tied to another.
ParamRef wholeParam(Sema &sema, Decl &decl, const Owner &owner, Scope &scope,
                    const ast::Binding &binding, llvm::StringRef suffix, unsigned names);

} // namespace attn::frontend
