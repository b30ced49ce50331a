// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting: what parses is formatted to the same words, and formatted again to the same text.
#include "Targets.h"
#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/syntax/Lexer.h"
#include "compiler/frontend/syntax/Parser.h"

using namespace attn::frontend;

/// Whether the bracket at `i` encloses one value of a picture's `mean` or `std`: the formatter
/// drops it.
static bool isNeedless(const std::vector<Token> &tokens, size_t i, const SourceFile &source) {
  if (i == 0 || !tokens[i].is(TokenKind::LeftBracket))
    return false;
  llvm::StringRef before = source.text(tokens[i - 1].range);
  if (before != "mean" && before != "std")
    return false;
  for (size_t depth = 0; i < tokens.size(); ++i) {
    if (tokens[i].is(TokenKind::LeftBracket) || tokens[i].is(TokenKind::LeftParen))
      ++depth;
    if ((tokens[i].is(TokenKind::RightBracket) || tokens[i].is(TokenKind::RightParen)) &&
        --depth == 0)
      return true;
    if (tokens[i].is(TokenKind::Comma) && depth == 1)
      return false;
  }
  return false;
}

/// Tokens but parentheses and brackets of one value, of which needless ones are dropped; and
/// comments.
static std::string wordsOf(const SourceFile &source) {
  DiagnosticEngine diagnostics(source);
  TokenStream stream = lex(source, diagnostics);
  std::string words;
  bool isOpen = false; // the `[` of one value was dropped
  for (size_t i = 0; i < stream.tokens.size(); ++i) {
    const Token &token = stream.tokens[i];
    bool isParenthesis = token.is(TokenKind::LeftParen) || token.is(TokenKind::RightParen);
    bool closes = isOpen && token.is(TokenKind::RightBracket);
    if (isNeedless(stream.tokens, i, source))
      isOpen = true;
    else if (closes)
      isOpen = false;
    else if (!isParenthesis)
      words += (source.text(token.range) + " ").str();
  }
  return words + "// " + std::to_string(stream.comments.size());
}

void attn::fuzz::format(const uint8_t *data, size_t size) {
  SourceFile source("fuzz.attn", std::string(reinterpret_cast<const char *>(data), size));
  DiagnosticEngine diagnostics(source);
  auto file = parse(source, diagnostics);
  require(file != nullptr, "no tree");
  if (diagnostics.hasErrors())
    return;
  SourceFile once("fuzz.attn", frontend::format(*file, source));
  DiagnosticEngine others(once);
  auto again = parse(once, others);
  require(!others.hasErrors(), "the formatted text does not parse");
  require(frontend::format(*again, once) == once.text(), "formatting changes what it has written");
  require(wordsOf(source) == wordsOf(once), "formatting changes words");
}
