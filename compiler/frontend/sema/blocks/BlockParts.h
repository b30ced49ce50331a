// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts: blocks with parameters of their own, under the name of the part.
#pragma once

#include "compiler/frontend/sema/Context.h"
#include "compiler/frontend/sema/blocks/Instances.h"

namespace attn::frontend {

/// Finds the block of a part.
void declarePart(Sema &sema, Decl &part);

/// Calls the function of a block with the parameters of `owner`; its results.
std::vector<SemaValue> callBlock(Sema &sema, Decl &block, llvm::StringRef name, const Owner &owner,
                                 const ast::CallExpr &call, const Given &given);

/// Whose the parameters of a part are, its block, and where both were declared.
struct PartOf {
  Owner owner;
  Decl *block = nullptr;
  Scope *declaredIn = nullptr;
};

/// What a part is of; nothing where it was reported.
std::optional<PartOf> partOf(Sema &sema, Decl &part);

/// The results of a part: of its block, with parameters under the name of the part.
std::vector<SemaValue> applyPart(Sema &sema, Decl &part, const ast::CallExpr &call);

} // namespace attn::frontend
