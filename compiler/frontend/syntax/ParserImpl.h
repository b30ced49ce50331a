// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokens of a spec while they are parsed: looking at them, reporting what is missing, and going
// on behind an error. The rules of the grammar are functions on it: ParseItems.h (the file and
// bodies), ParseDeclarations.h, ParseParts.h (paths, types, signatures, bindings),
// ParseExpressions.h and ParseAttention.h (hooks, attend, scan).
#pragma once

#include "compiler/frontend/syntax/Lexer.h"
#include "compiler/frontend/syntax/Parser.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"

namespace attn::frontend {

/// A cursor over tokens, with what the rules must know of each other.
class Parser {
public:
  Parser(const SourceFile &file, DiagnosticEngine &diagnostics, std::optional<SourceRange> part);

  // Tokens.
  /// The token that stands here; at the end of the file, that of kind End.
  const Token &current() const { return tokens[position]; }
  /// The token `count` behind this one, at most the last.
  const Token &ahead(size_t count) const {
    return tokens[std::min(position + count, tokens.size() - 1)];
  }
  /// The token behind this one.
  const Token &next() const { return ahead(1); }
  /// The place of the token before this one.
  SourceRange lastRange() const { return position ? tokens[position - 1].range : SourceRange{}; }
  /// Just behind the last token: where something missing should have been.
  SourceRange here() const { return {lastRange().end, lastRange().end}; }
  /// Whether a token of this kind, or this word, stands here.
  bool is(TokenKind kind) const { return current().is(kind); }
  bool isWord(llvm::StringRef word) const { return current().isWord(word); }
  /// Goes on to the next token; the one that stood here.
  Token consume();
  /// Goes on where a token of this kind, or this word, stands here.
  bool accept(TokenKind kind) { return is(kind) && (consume(), true); }
  bool acceptWord(llvm::StringRef word) { return isWord(word) && (consume(), true); }
  /// Consumes the token or reports `expected … <context>`.
  bool expect(TokenKind kind, const llvm::Twine &context);
  /// Likewise a word, or one that was probably meant to be it.
  bool expectWord(llvm::StringRef word, DiagCode code, const llvm::Twine &context);
  /// The word of an expression that the last token was probably meant to be, where an operand
  /// follows it: `attend` for `attned q over k`.
  std::optional<llvm::StringRef> misspeltOperator() const;
  /// How a message names what stands here.
  std::string found() const;
  /// Likewise, even where it begins a line.
  std::string foundHere() const;
  /// Whether the token that stands here is the first of its line.
  bool atLineStart() const;
  /// Reports at the current token; null where something has been reported here already.
  Diagnostic *error(DiagCode code, const llvm::Twine &message);
  /// Likewise, at the token itself even where it begins a line.
  Diagnostic *errorHere(DiagCode code, const llvm::Twine &message);
  /// Likewise, at another place.
  Diagnostic *errorAt(SourceRange range, DiagCode code, const llvm::Twine &message);

  // Recovery.
  /// Whether the token that stands here begins an item.
  bool startsItem() const;
  /// Reports again, unless there were too many errors.
  void endSilence();
  /// Skips to where an item may begin or the surrounding braces end.
  void synchronise();
  /// Skips to `close` or a comma of this nesting, at most to the end of the item.
  void skipInList(TokenKind close);
  /// Reports a comma that has nothing `before` or `after` it.
  void reportComma(SourceRange comma, llvm::StringRef side);
  /// Elements with commas between them up to the closing token, which is consumed.
  void parseList(TokenKind close, SourceRange open, llvm::function_ref<void()> element,
                 TokenKind alsoEndsAt = TokenKind::End);
  /// Consumes the closing token or reports that `open` is not closed.
  bool closeList(TokenKind close, SourceRange open);
  /// Whether `linear`, `param` or `input` of a `with` stands behind the comma that is here.
  bool withItemFollows() const;
  /// Reports an operator or a clause of another language; false where none stands here.
  bool reportForeign();
  /// `element {"," element}` without brackets around.
  void parseCommas(llvm::function_ref<void()> element);

  /// Counts nesting of expressions and bodies while it lives.
  struct Nesting {
    explicit Nesting(Parser &parser) : parser(parser) { ++parser.nesting; }
    ~Nesting() { --parser.nesting; }
    /// Whether this is one more than can be read.
    bool beyondLimit() const;
    Parser &parser;
  };

  // What the rules share.
  const SourceFile &file;
  DiagnosticEngine &diagnostics;
  std::vector<Token> tokens;
  std::vector<ast::Comment> comments;
  size_t position = 0;
  size_t reportedAt = SIZE_MAX; ///< Position of the last report: one per token.
  bool silent = false;          ///< Nothing more is worth reporting until the next item.
  bool bracesBalance = true;    ///< Whether the file has as many `}` as `{`.
  /// A stray `}` was reported: what follows may stand in the wrong place.
  bool strayClosed = false;
  bool inWith = false;        ///< In the `with` of a hook: a comma may begin another of its items.
  llvm::StringSet<> misnamed; ///< Words of the language that were reported as names.
  unsigned nesting = 0;       ///< Of expressions and bodies.
};

} // namespace attn::frontend
