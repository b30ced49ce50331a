// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens and recovery. Recovery has two levels: inside brackets to the next comma or closing
// bracket, elsewhere to the next word that begins an item or to the brace that ends the body. At
// most one error is reported per token, and none while `silent`.
#include "compiler/frontend/syntax/ForeignWords.h"
#include "compiler/frontend/syntax/ParseItems.h"
#include "compiler/frontend/syntax/ParserImpl.h"

#include "llvm/ADT/STLExtras.h"

namespace attn::frontend {

constexpr unsigned mostErrors = 100;

Parser::Parser(const SourceFile &file, DiagnosticEngine &diagnostics,
               std::optional<SourceRange> part)
    : file(file), diagnostics(diagnostics) {
  TokenStream stream = lex(file, diagnostics, part);
  tokens = std::move(stream.tokens);
  comments = std::move(stream.comments);
  auto isBrace = [&](TokenKind kind) {
    return llvm::count_if(tokens, [&](const Token &token) { return token.is(kind); });
  };
  bracesBalance = isBrace(TokenKind::LeftBrace) <= isBrace(TokenKind::RightBrace);
}

//===------------------------------------------------------------------------------------------===//
// Tokens
//===------------------------------------------------------------------------------------------===//

Token Parser::consume() {
  Token token = current();
  if (!token.is(TokenKind::End))
    ++position;
  return token;
}

std::string Parser::found() const {
  // Something missing at the end of a line is seen from there.
  return atLineStart() && !is(TokenKind::End) ? "the end of the line" : foundHere();
}

std::string Parser::foundHere() const {
  const Token &token = current();
  switch (token.kind) {
  case TokenKind::End:
    return "the end of the file";
  case TokenKind::String:
    return token.text.size() > 30 ? "a string" : token.text.str();
  default:
    return "`" + file.text(token.range).str() + "`";
  }
}

Diagnostic *Parser::errorAt(SourceRange range, DiagCode code, const llvm::Twine &message) {
  if (silent || reportedAt == position)
    return nullptr;
  if (current().afterError) { // what was left out explains it
    reportedAt = position;
    return nullptr;
  }
  reportedAt = position;
  Diagnostic &diagnostic = diagnostics.error(code, range, message);
  if (diagnostics.errorCount() >= mostErrors) {
    diagnostics.error(DiagCode::TooManyErrors, {range.end, range.end},
                      "too many errors; what follows was not read");
    silent = true;
    position = tokens.size() - 1;
  }
  return &diagnostic;
}

bool Parser::atLineStart() const {
  return position && file.line(current().range.begin) != file.line(lastRange().end);
}

Diagnostic *Parser::error(DiagCode code, const llvm::Twine &message) {
  // Something missing at the end of a line is shown there, not at what the next line begins with.
  return errorAt(atLineStart() ? here() : current().range, code, message);
}

Diagnostic *Parser::errorHere(DiagCode code, const llvm::Twine &message) {
  return errorAt(is(TokenKind::End) ? here() : current().range, code, message);
}

bool Parser::expect(TokenKind kind, const llvm::Twine &context) {
  if (accept(kind))
    return true;
  error(DiagCode::UnexpectedToken,
        "expected " + describe(kind) + " " + context + ", but got " + found());
  return false;
}

bool Parser::expectWord(llvm::StringRef word, DiagCode code, const llvm::Twine &context) {
  if (acceptWord(word))
    return true;
  Diagnostic *diagnostic =
      error(code, "expected `" + word + "` " + context + ", but got " + found());
  // Misspelt, it is read as what was meant.
  bool isMisspelt = is(TokenKind::Word) && !atLineStart() && nearestName(current().text, {word});
  if (diagnostic && isMisspelt)
    diagnostic->didYouMean(word);
  return isMisspelt && (consume(), true);
}

std::optional<llvm::StringRef> Parser::misspeltOperator() const {
  if (!position || atLineStart() || !tokens[position - 1].is(TokenKind::Word))
    return std::nullopt;
  bool isOperand = is(TokenKind::Word) || is(TokenKind::Integer) || is(TokenKind::Float);
  const Token &last = tokens[position - 1];
  return isOperand && !last.inPath() && !last.isReserved()
             ? nearestName(last.text, {"attend", "scan", "not", "if"})
             : std::nullopt;
}

//===------------------------------------------------------------------------------------------===//
// Recovery
//===------------------------------------------------------------------------------------------===//

bool Parser::startsItem() const {
  const Token &token = current();
  if (!findRule(token))
    return false;
  // Words that may also be names begin an item only where a name cannot follow a name.
  if (token.isReserved())
    return token.text != "dim" || // `dim(q)` is a function, `dim=-1` of another language
           !(next().is(TokenKind::LeftParen) || next().is(TokenKind::Equal));
  if (token.text == "forward")
    return next().is(TokenKind::LeftBracket) || next().is(TokenKind::LeftParen);
  if (token.text == "weights") // also what an attend returns: `return out, weights  score …`
    return next().is(TokenKind::String);
  bool takesString = token.text == "ignore" || token.text == "use";
  bool isFlag = token.text == "bias" && next().isReserved(); // of a linear map, before an item
  return (next().is(TokenKind::Word) && !isFlag) || (takesString && next().is(TokenKind::String));
}

void Parser::endSilence() { silent = diagnostics.errorCount() > mostErrors; }

void Parser::synchronise() {
  // Braces opened on the way (a body whose head was not understood) are skipped with what they
  // hold.
  unsigned depth = 0;
  while (!is(TokenKind::End)) {
    if (depth == 0 && (is(TokenKind::RightBrace) || startsItem()))
      break;
    if (is(TokenKind::LeftBrace))
      ++depth;
    else if (is(TokenKind::RightBrace))
      --depth;
    else if (depth && (isWord("model") || isWord("entry") || isWord("block")))
      break; // the brace was not closed
    consume();
  }
  endSilence();
}

void Parser::skipInList(TokenKind close) {
  std::vector<TokenKind> open;
  while (!is(TokenKind::End)) {
    TokenKind kind = current().kind;
    if (open.empty() &&
        (kind == close || kind == TokenKind::Comma || kind == TokenKind::RightParen ||
         kind == TokenKind::RightBracket || kind == TokenKind::RightBrace))
      return;
    if (startsItem() || (open.empty() && kind == TokenKind::LeftBrace))
      return;
    if (kind == TokenKind::LeftParen || kind == TokenKind::LeftBracket ||
        kind == TokenKind::LeftBrace)
      open.push_back(kind);
    else if (kind == TokenKind::RightParen || kind == TokenKind::RightBracket ||
             kind == TokenKind::RightBrace)
      open.pop_back();
    consume();
  }
}

bool Parser::closeList(TokenKind close, SourceRange open) {
  if (accept(close))
    return true;
  if (Diagnostic *diagnostic = error(DiagCode::MissingClosingBracket,
                                     "expected " + describe(close) + ", but got " + found()))
    diagnostic->at(open, "to close this");
  return false;
}

void Parser::reportComma(SourceRange comma, llvm::StringRef side) {
  if (Diagnostic *diagnostic =
          errorAt(comma, DiagCode::ExtraComma, "there is nothing " + side + " this comma"))
    diagnostic->help("leave it out", Edit{comma, ""});
}

void Parser::parseList(TokenKind close, SourceRange open, llvm::function_ref<void()> element,
                       TokenKind alsoEndsAt) {
  auto atEnd = [&] { return is(close) || (alsoEndsAt != TokenKind::End && is(alsoEndsAt)); };
  while (!atEnd()) {
    if (is(TokenKind::Comma)) {
      reportComma(consume().range, "before");
      continue;
    }
    size_t before = position;
    element();
    if (atEnd())
      break;
    if (!is(TokenKind::Comma)) {
      // A token that cannot be part of the list: say so, and go on behind the next comma.
      bool listEnds = is(TokenKind::End) || is(TokenKind::LeftBrace) || is(TokenKind::RightBrace) ||
                      startsItem();
      if (!listEnds && !reportForeign())
        if (Diagnostic *diagnostic =
                error(DiagCode::UnexpectedToken,
                      "expected `,` or " + describe(close) + ", but got " + found()))
          diagnostic->at(open, "in what opens here");
      skipInList(close);
      if (!is(TokenKind::Comma))
        break;
    }
    SourceRange comma = consume().range;
    if (atEnd())
      reportComma(comma, "after");
    if (position == before)
      break;
  }
  if (alsoEndsAt != TokenKind::End && is(alsoEndsAt))
    return;
  closeList(close, open);
}

/// What to write for what follows a value behind a dot.
static std::string adviceForMethod(const Token &name) {
  llvm::StringRef text = name.text;
  if (text == "T" || text == "mT" || text == "shape" || text == "size")
    return "axes have names, and their order means nothing: leave it out; a size is the name of "
           "its axis";
  llvm::StringRef advice = adviceFor(ForeignPlace::Function, name.text).text;
  return advice.empty() ? "functions are applied to a tensor in parentheses: `gelu(x)`"
                        : advice.str();
}

bool Parser::reportForeign() {
  auto report = [&](llvm::StringRef what, const llvm::Twine &help) {
    if (Diagnostic *diagnostic = errorHere(DiagCode::ForeignOperator,
                                           "`" + what + "` is not an operator of this language"))
      diagnostic->help(help);
    return true;
  };
  if (is(TokenKind::At))
    return report("@", adviceFor(ForeignPlace::Function, "matmul").text);
  if (is(TokenKind::Dot) && next().is(TokenKind::Word)) {
    if (Diagnostic *diagnostic =
            errorHere(DiagCode::ForeignOperator, "a value has no `." + next().text + "`"))
      diagnostic->help(adviceForMethod(next()));
    return true;
  }
  return false;
}

bool Parser::withItemFollows() const {
  return inWith && (next().isWord("linear") || next().isWord("param") || next().isWord("input"));
}

void Parser::parseCommas(llvm::function_ref<void()> element) {
  element();
  while (is(TokenKind::Comma) && !withItemFollows()) {
    SourceRange comma = consume().range;
    while (is(TokenKind::Comma)) {
      reportComma(consume().range, "before");
    }
    if (startsItem() || is(TokenKind::RightBrace) || is(TokenKind::End)) {
      reportComma(comma, "after");
      return;
    }
    element();
  }
}

} // namespace attn::frontend
