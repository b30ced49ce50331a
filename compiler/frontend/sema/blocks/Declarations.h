// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations: names into scopes, and what a model declares.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Adds a name to a scope; null, and reported, where the scope has it already.
Decl *declare(Sema &sema, Scope &scope, Decl::Kind kind, const ast::Item *item,
              llvm::StringRef name, SourceRange range);

/// Adds the names that an item declares to a scope.
void declareItem(Sema &sema, Scope &scope, const ast::Item &item);

/// Declares the items with an `if`, or the items without.
void declareItems(Sema &sema, Scope &scope, const std::vector<ast::ItemPtr> &items,
                  bool conditional);

/// Declares all of a model and sets up its dims, parameters, stacks and parts.
void declareModel(Sema &sema, const ast::ModelDecl &model);

/// Gives the model and its parameters the precisions that are said; all parameters are there.
void declarePrecisions(Sema &sema, const ast::ModelDecl &model);

/// The block of a name; null where there is none, which is reported.
Decl *findBlock(Sema &sema, const ast::Name &name);

} // namespace attn::frontend
