// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is declared in a spec, and where it can be seen: enough to say what the name under a cursor
// is.
#pragma once

#include "compiler/frontend/syntax/Ast.h"

namespace attn::lsp {

/// A declared name.
struct Declaration {
  std::string name;            ///< A path as written: `attn.q`.
  frontend::SourceRange where; ///< Of the name.
  frontend::SourceRange scope; ///< Where it can be seen.
  std::string text;            ///< The declaration in one line, as source text.
};

/// All declarations of a file, of outer scopes first.
std::vector<Declaration> declarations(const frontend::ast::File &file,
                                      const frontend::SourceFile &source);

/// The declarations of one item, which can be seen in `scope`.
std::vector<Declaration> declarationsOf(const frontend::ast::Item &item,
                                        frontend::SourceRange scope,
                                        const frontend::SourceFile &source);

/// A use of a name.
struct Use {
  std::string path;            ///< Up to the component under the cursor.
  frontend::SourceRange range; ///< Of the path.
};

/// The path at an offset of the text, none if there is no name.
std::optional<Use> useAt(const frontend::SourceFile &source, uint32_t offset);

/// What a use means: the innermost declaration of its path, else of the longest beginning of the
/// path (`x` of `x.y`).
const Declaration *resolve(const std::vector<Declaration> &all, const Use &use);

} // namespace attn::lsp
