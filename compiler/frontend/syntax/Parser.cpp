// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens, recovery, and the outermost rules. Recovery has two levels: inside brackets to the next
// comma or closing bracket, elsewhere to the next word that begins an item or to the brace that
// ends the body. At most one error is reported per token, and none while `silent`.
#include "compiler/frontend/syntax/ParserImpl.h"

#include "llvm/ADT/STLExtras.h"

namespace attn::frontend {

constexpr unsigned mostErrors = 100;

const Parser::ItemRule Parser::itemRules[] = {
    {"use", InFile, &Parser::parseUse},
    {"model", InFile, &Parser::parseModel},
    {"dim", InModel | InBlock, &Parser::parseDim},
    {"dyn", InModel, &Parser::parseDyn},
    {"linear", InModel | InBlock, &Parser::parseLinear},
    {"embedding", InModel | InBlock, &Parser::parseEmbedding},
    {"param", InModel | InBlock, &Parser::parseParam},
    {"layernorm", InModel | InBlock, &Parser::parseNorm},
    {"rmsnorm", InModel | InBlock, &Parser::parseNorm},
    {"stack", InModel | InBlock, &Parser::parseStack},
    {"part", InModel | InBlock, &Parser::parsePart},
    {"block", InFile | InModel, &Parser::parseBlock},
    {"cell", InFile | InModel, &Parser::parseBlock},
    {"score", InFile | InModel | InBlock, &Parser::parseHook},
    {"bias", InFile | InModel | InBlock, &Parser::parseHook},
    {"mask", InFile | InModel | InBlock, &Parser::parseHook},
    {"ignore", InModel, &Parser::parseIgnore},
    {"image", InModel, &Parser::parseImage},
    {"entry", InModel, &Parser::parseEntry},
    {"forward", InModel, &Parser::parseForward},
    {"cache", InModel, &Parser::parseCache},
    {"state", InModel, &Parser::parseState},
    {"table", InModel | InBlock, &Parser::parseTable},
    {"let", InBlock | InEntry, &Parser::parseLet},
    {"return", InBlock | InEntry, &Parser::parseReturn},
};

const Parser::ItemRule *Parser::findRule(const Token &token) {
  for (const ItemRule &rule : itemRules)
    if (token.isWord(rule.word))
      return &rule;
  return nullptr;
}

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
    diagnostic->help("did you mean `" + word + "`?");
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
    return token.text != "dim" || !next().is(TokenKind::LeftParen); // `dim(q)` is a function
  if (token.text == "forward")
    return next().is(TokenKind::LeftBracket) || next().is(TokenKind::LeftParen);
  bool takesString = token.text == "ignore" || token.text == "use";
  bool isFlag = token.text == "bias" && next().isReserved(); // of a linear map, before an item
  return (next().is(TokenKind::Word) && !isFlag) || (takesString && next().is(TokenKind::String));
}

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
  silent = diagnostics.errorCount() > mostErrors;
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

void Parser::parseList(TokenKind close, SourceRange open, llvm::function_ref<void()> element,
                       TokenKind alsoEndsAt) {
  auto atEnd = [&] { return is(close) || (alsoEndsAt != TokenKind::End && is(alsoEndsAt)); };
  while (!atEnd()) {
    if (is(TokenKind::Comma)) {
      errorHere(DiagCode::ExtraComma, "there is nothing before this comma");
      consume();
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
      if (!listEnds)
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
      errorAt(comma, DiagCode::ExtraComma, "there is nothing after this comma");
    if (position == before)
      break;
  }
  if (alsoEndsAt != TokenKind::End && is(alsoEndsAt))
    return;
  closeList(close, open);
}

bool Parser::withItemFollows() const {
  return inWith && (next().isWord("linear") || next().isWord("param") || next().isWord("input"));
}

void Parser::parseCommas(llvm::function_ref<void()> element) {
  element();
  while (is(TokenKind::Comma) && !withItemFollows()) {
    SourceRange comma = consume().range;
    while (is(TokenKind::Comma)) {
      errorHere(DiagCode::ExtraComma, "there is nothing before this comma");
      consume();
    }
    if (startsItem() || is(TokenKind::RightBrace) || is(TokenKind::End)) {
      errorAt(comma, DiagCode::ExtraComma, "there is nothing after this comma");
      return;
    }
    element();
  }
}

//===------------------------------------------------------------------------------------------===//
// The file and bodies
//===------------------------------------------------------------------------------------------===//

void Parser::parseVersion(ast::File &result) {
  if (!isWord("attn") || next().is(TokenKind::LeftBrace)) {
    SourceRange start = current().range;
    if (Diagnostic *diagnostic = errorAt({start.begin, start.begin}, DiagCode::MissingVersionLine,
                                         "a spec begins with the version of the language"))
      diagnostic->help("write `attn 1` as the first line");
    reportedAt = SIZE_MAX;
    return;
  }
  SourceRange keyword = consume().range;
  if (is(TokenKind::Integer) && current().text == "1") {
    result.version = 1;
    result.versionRange = keyword.to(consume().range);
    return;
  }
  if (is(TokenKind::Integer) || is(TokenKind::Float)) {
    if (Diagnostic *diagnostic =
            error(DiagCode::UnknownVersion,
                  "version " + current().text + " of the language is not known to this compiler"))
      diagnostic->help("this compiler reads `attn 1`");
    consume();
  } else if (Diagnostic *diagnostic =
                 errorAt(keyword, DiagCode::MissingVersionLine,
                         "`attn` is not followed by the version of the language")) {
    diagnostic->help("write `attn 1`");
  }
}

std::unique_ptr<ast::File> Parser::parseFile() {
  auto result = std::make_unique<ast::File>();
  result->comments = std::move(comments);
  parseVersion(*result);
  while (!is(TokenKind::End)) {
    if (is(TokenKind::RightBrace)) {
      if (!strayClosed)
        errorHere(DiagCode::StrayClosing, "this `}` closes nothing");
      strayClosed = true;
      consume();
      continue;
    }
    if (ast::ItemPtr item = parseItem(InFile))
      result->items.push_back(std::move(item));
  }
  return result;
}

SourceRange Parser::parseBody(Scope scope, std::vector<ast::ItemPtr> &items) {
  SourceRange open = current().range;
  if (!accept(TokenKind::LeftBrace)) {
    if (Diagnostic *diagnostic =
            error(DiagCode::UnexpectedToken, "expected `{`, but got " + found()))
      diagnostic->help("the body stands between `{` and `}`");
    synchronise();
    return here();
  }
  while (!is(TokenKind::RightBrace)) {
    const ItemRule *rule = findRule(current());
    bool belongsOutside =
        rule && !(rule->scopes & scope) && (rule->scopes & (InModel | InFile)) && !bracesBalance;
    if (is(TokenKind::End) || belongsOutside) {
      if (Diagnostic *diagnostic =
              errorAt(open, DiagCode::MissingClosingBrace, "this `{` is never closed"))
        if (!is(TokenKind::End))
          diagnostic->at(current().range, "`" + current().text + "` cannot stand inside it");
      bracesBalance =
          true; // the file lacks one; what else stands in a wrong place is reported as such
      return here();
    }
    if (ast::ItemPtr item = parseItem(scope))
      items.push_back(std::move(item));
  }
  return consume().range;
}

ast::ItemPtr Parser::parseItem(Scope scope) {
  const ItemRule *rule = findRule(current());
  if (!rule) {
    bool isAlone = !position || atLineStart() || tokens[position - 1].is(TokenKind::RightBrace) ||
                   tokens[position - 1].is(TokenKind::LeftBrace);
    reportNoItem(scope);
    // What was meant, where it is known, tells what follows it.
    std::optional<llvm::StringRef> meant = isAlone ? misspeltItem(scope) : std::nullopt;
    if (meant && next().is(TokenKind::Word)) {
      tokens[position].text = *meant;
      return parseItem(scope);
    }
    // The token itself may be what stops the skipping.
    if (!is(TokenKind::RightBrace))
      consume();
    synchronise();
    return nullptr;
  }
  Nesting guard(*this);
  if (guard.beyondLimit()) {
    tooDeep(current().range);
    position = tokens.size() - 1;
    return nullptr;
  }
  size_t before = position;
  ast::ItemPtr item;
  if (rule->scopes & scope)
    item = (this->*rule->parse)();
  else
    item = parseMisplaced(*rule, scope);
  if (item)
    item->range = item->keyword.to(lastRange());
  bool clean = reportedAt <= before || reportedAt == SIZE_MAX;
  bool ended = startsItem() || is(TokenKind::RightBrace) || is(TokenKind::End);
  if (is(TokenKind::Semicolon)) {
    if (Diagnostic *diagnostic = error(DiagCode::Semicolon, "items are not separated by `;`"))
      diagnostic->help("leave it out");
    while (accept(TokenKind::Semicolon))
      ;
  } else if (!ended) {
    // Behind an error the rest of its line says nothing new.
    if (clean || atLineStart())
      reportNoItem(scope);
    synchronise();
  }
  silent = diagnostics.errorCount() > mostErrors;
  return item;
}

ast::ItemPtr Parser::parseMisplaced(const ItemRule &rule, Scope scope) {
  if (!strayClosed) {
    std::string where = scope == InFile    ? "outside of a model"
                        : scope == InModel ? "directly in a model"
                        : scope == InBlock ? "in a block"
                                           : "in the body of an entry";
    Diagnostic *diagnostic =
        errorHere(DiagCode::MisplacedDeclaration, "`" + rule.word + "` cannot stand " + where);
    bool inBodies = rule.scopes & (InBlock | InEntry), inModel = rule.scopes & InModel;
    if (diagnostic)
      diagnostic->help(inModel
                           ? llvm::StringRef("write it in the model, outside of blocks and entries")
                       : inBodies ? llvm::StringRef("write it in the body of a block or an entry")
                                  : llvm::StringRef("write it outside of any braces"));
    reportedAt = SIZE_MAX;
  }
  return (this->*rule.parse)(); // its own errors count as well, and the formatter wants it
}

void Parser::reportNoItem(Scope scope) {
  std::string expected = scope == InFile    ? "expected `use`, `model`, `block`, `cell` or a hook"
                         : scope == InModel ? "expected a declaration"
                         : scope == InBlock ? "expected a declaration, `let` or `return`"
                                            : "expected `let` or `return`";
  if (is(TokenKind::RightParen) || is(TokenKind::RightBracket)) {
    errorHere(DiagCode::StrayClosing, "this `" + current().text + "` closes nothing");
    return;
  }
  if (is(TokenKind::At)) {
    if (Diagnostic *diagnostic =
            errorHere(DiagCode::ForeignOperator, "`@` is not an operator of this language"))
      diagnostic->help("a product with a parameter is a linear map, declared as `linear w: D -> F` "
                       "and applied as `w(x)`; products of queries and keys are scores of an "
                       "`attend`");
    return;
  }
  if (std::optional<llvm::StringRef> meant = misspeltOperator()) {
    if (Diagnostic *diagnostic = errorAt(lastRange(), DiagCode::UnexpectedToken,
                                         "expected an operator behind `" + file.text(lastRange()) +
                                             "`, but got " + foundHere()))
      diagnostic->help("did you mean `" + *meant + "`?");
    return;
  }
  Diagnostic *diagnostic =
      errorHere(DiagCode::ExpectedDeclaration, expected + ", but got " + foundHere());
  if (!diagnostic || !is(TokenKind::Word))
    return;
  bool assigned = next().is(TokenKind::Equal);
  std::optional<llvm::StringRef> near = misspeltItem(scope);
  if (!near && position && !atLineStart()) // behind an expression
    near = nearestName(current().text,
                       {"and", "or", "along", "as", "group", "over", "optional", "eps"});
  if (near)
    diagnostic->help("did you mean `" + *near + "`?");
  else if (assigned && (scope == InBlock || scope == InEntry))
    diagnostic->help("write `let " + current().text + " = …`");
  else if (assigned && scope == InModel)
    diagnostic->help("write `dim " + current().text + " = …` for a size");
}

std::optional<llvm::StringRef> Parser::misspeltItem(Scope scope) const {
  std::vector<llvm::StringRef> words;
  for (const ItemRule &rule : itemRules)
    if (rule.scopes & scope)
      words.push_back(rule.word);
  bool isWord = is(TokenKind::Word) && !current().inPath();
  return isWord ? nearestName(current().text, words) : std::nullopt;
}

std::unique_ptr<ast::File> parse(const SourceFile &file, DiagnosticEngine &diagnostics,
                                 std::optional<SourceRange> part) {
  return Parser(file, diagnostics, part).parseFile();
}

} // namespace attn::frontend
