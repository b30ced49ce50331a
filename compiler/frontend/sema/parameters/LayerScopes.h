// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a stack says of its block may depend on the number `n` of the layer. Layers of which it says
// the same share a scope, and so the block's function.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// The scopes in which the dims and statics of a stack's layers are looked up. They live as long as
/// this.
class LayerScopes {
public:
  /// Of `layers` layers; `declaredIn` is the scope of the stack. What is wrong is reported.
  LayerScopes(Sema &sema, const ast::StackDecl &stack, Scope &declaredIn, int64_t layers);

  /// The number of the scope of layer `n`: equal for those of which the same is said.
  size_t of(int64_t n) const { return scopeOf.empty() ? 0 : scopeOf[n]; }
  /// The scopes, the first being that of layer 0.
  llvm::ArrayRef<Scope *> all() const { return scopes; }

private:
  /// What the stack says of the layer whose number `number` is, as a text.
  std::string whatIsSaid(Decl &number);

  Sema &sema;
  const ast::StackDecl &stack;
  std::vector<std::unique_ptr<Scope>> owned;
  std::vector<Scope *> scopes;
  std::vector<size_t> scopeOf; ///< By layer; empty where all layers are alike.
};

} // namespace attn::frontend
