// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting: what parses is formatted to the same words, and formatted again to the same text.
#include "Targets.h"
#include "compiler/frontend/Formatter.h"
#include "compiler/frontend/Lexer.h"
#include "compiler/frontend/Parser.h"

using namespace attn::frontend;

/// Tokens but parentheses, of which needless ones are dropped; and comments.
static std::string wordsOf(const SourceFile &source) {
  DiagnosticEngine diagnostics(source);
  TokenStream stream = lex(source, diagnostics);
  std::string words;
  for (const Token &token : stream.tokens)
    if (!token.is(TokenKind::LeftParen) && !token.is(TokenKind::RightParen))
      words += (source.text(token.range) + " ").str();
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
