// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules of what declarations consist of: names, paths, types, signatures and bindings.
#pragma once

#include "compiler/frontend/syntax/ParserImpl.h"

namespace attn::frontend {

/// A name; `what` says in errors what it names.
std::optional<ast::Name> parseName(Parser &parser, llvm::StringRef what);

/// Names with dots between them.
std::optional<ast::Path> parsePath(Parser &parser, llvm::StringRef what);

/// Paths with commas between them, at least one.
std::vector<ast::Path> parsePaths(Parser &parser, llvm::StringRef what);

/// A string without its quotes, as a name; for patterns.
std::optional<ast::Name> parsePattern(Parser &parser, llvm::StringRef what);

/// The sizes of a shape, without brackets around.
std::vector<ast::ExprPtr> parseDims(Parser &parser);

/// `A, B -> C`: the axes taken and given.
void parseArrow(Parser &parser, std::vector<ast::ExprPtr> &from, std::vector<ast::ExprPtr> &to);

/// A type: a dtype, a shape in brackets, or both.
ast::Type parseType(Parser &parser);

/// What a block or hook is given when compiling, behind the `;` of the list that `open` opens, and
/// its `)`.
void parseStatics(Parser &parser, std::vector<ast::Static> &statics, SourceRange open);

/// The name (unless `given`), dims, parameters and results of a block or entry.
ast::Signature parseSignature(Parser &parser, std::optional<ast::Name> given, llvm::StringRef what);

/// `[T: 4]`: sizes for the dims of a block.
std::vector<ast::DimArgument> parseDimArguments(Parser &parser);

/// `= "pattern"`, `= tied(x)` and the like, with `optional` and `if`.
ast::Binding parseBinding(Parser &parser);

} // namespace attn::frontend
