// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stacks: the layers of a block, each with parameters of its own or all with the same.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Finds the number of a stack's layers, and their block.
void declareStack(Sema &sema, Decl &stack);

/// Whose the parameters of a stack's layers are, where the stack belongs to `around`; nothing where
/// it was reported.
std::optional<Owner> ownerOfStack(Sema &sema, const Decl &decl, const Owner &around);

/// The results of a stack: what its layers pass on, and what each of them gives, along the axis of
/// the layers.
std::vector<SemaValue> applyStack(Sema &sema, Decl &decl, const ast::CallExpr &call);

} // namespace attn::frontend
