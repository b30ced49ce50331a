// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formatter's rules, for Formatter.cpp (comments, bodies, the file), Items.cpp and
// Expressions.cpp.
//
// Comments are not in the tree. A comment behind something on its line stays behind it; one between
// the elements of a list or the lines of an `attend` stays there; any other goes before the item it
// is in.
#pragma once

#include "compiler/frontend/format/Layout.h"
#include "compiler/frontend/syntax/Ast.h"
#include "llvm/ADT/ArrayRef.h"

namespace attn::frontend {

/// Sets one file in its canonical form. It is used once.
class Formatter {
public:
  Formatter(const ast::File &file, const SourceFile &source)
      : file(file), source(source), claimed(file.comments.size(), false) {}

  /// The text of the file.
  std::string run();

private:
  /// An element of a list and its place, which decides what comments are its.
  struct Element {
    Layout layout;
    SourceRange range;
  };

  // Comments (Formatter.cpp).
  /// The text of a comment, without white space at its end.
  llvm::StringRef commentText(size_t index) const;
  /// Claims the comment that stands behind `end` on its line, with at most a comma between.
  std::optional<std::string> claimTrailing(uint32_t end);
  /// Claims all comments that begin in the range, in order.
  std::vector<size_t> claimIn(uint32_t begin, uint32_t end);
  /// Prints comments as lines of their own, and keeps empty lines between them.
  void printComments(const std::vector<size_t> &indices);

  // Lines (Formatter.cpp).
  /// Keeps one empty line of the source in front of what begins at `offset`.
  void blankLineBefore(uint32_t offset);
  /// Prints the items between two braces, with the comments between them.
  void printBody(const std::vector<ast::ItemPtr> &items, SourceRange closingBrace,
                 uint32_t bodyBegin);
  /// Prints an item: its head, and its body where it has one.
  void printItem(const ast::Item &item);
  /// The items of a body, for those that have one.
  static const std::vector<ast::ItemPtr> *bodyOf(const ast::Item &item, SourceRange &closingBrace);

  // Items (Items.cpp).
  /// What an item says up to its body, one function for each kind of item.
  Layout head(const ast::Item &item);
  Layout head(const ast::LinearDecl &decl);
  Layout head(const ast::ParamDecl &decl);
  Layout head(const ast::NormDecl &decl);
  Layout head(const ast::StackDecl &decl);
  Layout head(const ast::PartDecl &decl);
  Layout head(const ast::HookDecl &decl);
  Layout head(const ast::PrecisionDecl &decl);
  Layout head(const ast::ImageDecl &decl);
  Layout head(const ast::SoundDecl &decl);
  Layout head(const ast::EntryDecl &decl);
  Layout head(const ast::LetStmt &decl);
  /// The parts of heads: lists of names, a type, parameters and results, where a tensor comes from.
  Layout names(llvm::ArrayRef<ast::Path> paths);
  Layout strings(llvm::ArrayRef<ast::Name> names); ///< in quotes, as they stand there
  Layout shape(const ast::Type &type);
  Layout signature(const ast::Signature &signature);
  Layout binding(const ast::Binding &binding);
  /// What stands in parentheses or brackets behind a name: statics, dims with sizes, dims alone.
  Layout statics(llvm::ArrayRef<ast::Static> statics);
  Layout dimArguments(llvm::ArrayRef<ast::DimArgument> arguments);
  Layout dimNames(llvm::ArrayRef<ast::Name> names);

  // Lists and expressions (Expressions.cpp).
  /// `a, b, c`, filling lines.
  Layout commas(std::vector<Element> elements);
  Layout expressions(llvm::ArrayRef<ast::ExprPtr> exprs, bool tight = false);
  Layout arguments(llvm::ArrayRef<ast::Argument> arguments);
  Layout argument(const ast::Argument &argument);
  /// `tight`: inside a shape, where `Y*P` is written without spaces.
  Layout expr(const ast::Expr &e, bool tight = false);
  Layout bare(const ast::Expr &e, bool tight);
  Layout binary(const ast::BinaryExpr &e, bool tight);
  /// `if a then b else if c then d else e`
  Layout choice(const ast::IfExpr &e);
  Layout attend(const ast::AttendExpr &e);
  Layout attendBody(const ast::AttendExpr &e);

  const ast::File &file;
  const SourceFile &source;
  std::vector<bool> claimed; ///< By index of the comment: it is in the output.
  std::string out;
  unsigned indent = 0;
  bool bodyStart = true;   ///< Nothing has been printed in this body yet.
  uint32_t lastOffset = 0; ///< End, in the source, of what was printed last.
};

} // namespace attn::frontend
