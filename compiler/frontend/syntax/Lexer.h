// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text -> tokens. White space and line ends only separate; comments are put aside for the
// formatter. Characters that mean nothing are reported and left out; an operator of another
// language becomes the one that was meant.
#pragma once

#include "compiler/frontend/syntax/Ast.h"
#include "compiler/frontend/syntax/Diagnostics.h"

namespace attn::frontend {

/// What a token is.
enum class TokenKind {
  End,
  Word,
  Integer,
  Float,
  String,
  LeftBrace,
  RightBrace,
  LeftParen,
  RightParen,
  LeftBracket,
  RightBracket,
  Comma,
  Colon,
  Semicolon,
  Arrow,
  Equal,
  Dot,
  At,
  QuestionQuestion,
  EqualEqual,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Plus,
  Minus,
  Star,
  StarStar,
  Slash,
  Percent
};

/// How a kind is spelt, in back quotes, or what it is (`a name`, `the end of the file`).
llvm::StringRef describe(TokenKind kind);

/// A token, whose text is that of the file, which outlives it.
struct Token {
  TokenKind kind = TokenKind::End;
  bool afterDot = false; ///< A path's further component: any word or integer, never reserved.
  llvm::StringRef text; ///< Of a Word also where it stands for a foreign operator (`and` for `&&`).
  SourceRange range;
  bool afterError = false; ///< Something before it was reported and left out.
  bool beforeDot = false;  ///< A path's first component of several: never reserved either.

  /// Whether it is of a kind.
  bool is(TokenKind k) const { return kind == k; }
  /// Whether it is a component of a path of several, where no word is reserved.
  bool inPath() const { return afterDot || beforeDot; }
  /// Whether it is this word, by itself.
  bool isWord(llvm::StringRef word) const {
    return kind == TokenKind::Word && !inPath() && text == word;
  }
  /// Whether it is a word of the language that can be no name.
  bool isReserved() const;
};

/// Whether a word can never be a name (except in a path of several).
bool isReserved(llvm::StringRef word);

/// The tokens of a file, with one of kind End last, and its comments.
struct TokenStream {
  std::vector<Token> tokens;
  std::vector<ast::Comment> comments;
};

/// The tokens of the file itself, or of a file that it uses, whose text is at `part`.
TokenStream lex(const SourceFile &file, DiagnosticEngine &diagnostics,
                std::optional<SourceRange> part = std::nullopt);

/// The value of a string token: without quotes, `\"` and `\\` resolved.
std::string stringValue(llvm::StringRef quoted);

} // namespace attn::frontend
