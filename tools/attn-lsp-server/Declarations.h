// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is declared in a spec, and where it can be seen: enough to say what a name means.
#pragma once

#include "compiler/frontend/syntax/Ast.h"

namespace attn::lsp {

/// A declared name.
struct Declaration {
  /// What it was declared as. `Input` is a parameter of a block, an entry or a hook.
  enum class Kind {
    Model,
    Dim,
    Linear,
    Embedding,
    Norm,
    Param,
    Stack,
    Part,
    Block,
    Entry,
    Hook,
    Cache,
    Table,
    Let,
    Input,
    Static
  };
  Kind kind;
  std::string name;                ///< A path as written: `attn.q`.
  frontend::SourceRange where;     ///< Of the name.
  frontend::SourceRange scope;     ///< Where it can be seen.
  std::string text;                ///< The declaration in one line, as source text.
  const frontend::ast::Item *item; ///< What declares it.

  /// Whether it has a body with declarations of its own.
  bool hasBody() const {
    return kind == Kind::Model || kind == Kind::Block || kind == Kind::Entry ||
           kind == Kind::Hook || kind == Kind::Table;
  }
  /// The name of the block that a part or a stack consists of; null for all others.
  const frontend::ast::Name *block() const;
  /// Whether it is a layer or a tensor with parameters, whose name is that of tensors.
  bool hasParameters() const { return kind >= Kind::Linear && kind <= Kind::Part; }
};

/// All declarations of a file, of outer scopes first. Those outside of braces can be seen anywhere.
std::vector<Declaration> declarationsOf(const frontend::ast::File &file,
                                        const frontend::SourceFile &source);

/// Where a name is bound to tensors of a checkpoint; null where what declares it has no binding.
const frontend::ast::Binding *bindingOf(const Declaration &declaration);

} // namespace attn::lsp
