// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The outermost rules: the file, bodies, and which item a word begins.
#include "compiler/frontend/syntax/ParseItems.h"
#include "compiler/frontend/syntax/ForeignWords.h"
#include "compiler/frontend/syntax/ParseAttention.h"
#include "compiler/frontend/syntax/ParseDeclarations.h"
#include "compiler/frontend/syntax/ParseExpressions.h"

#include "llvm/ADT/STLExtras.h"

namespace attn::frontend {

/// An item of a body, or null where none could be read.
static ast::ItemPtr parseItem(Parser &parser, ItemScope scope);

static ast::ItemPtr parseMisplaced(Parser &parser, const ItemRule &rule, ItemScope scope);

static void reportNoItem(Parser &parser, ItemScope scope);

/// The word that begins an item here and is probably meant by the one that stands here.
static std::optional<llvm::StringRef> misspeltItem(Parser &parser, ItemScope scope);

static const ItemRule itemRules[] = {
    {"use", InFile, parseUse},
    {"model", InFile, parseModel},
    {"dim", InModel | InBlock, parseDim},
    {"dyn", InModel, parseDyn},
    {"linear", InModel | InBlock, parseLinear},
    {"embedding", InModel | InBlock, parseEmbedding},
    {"param", InModel | InBlock, parseParam},
    {"layernorm", InModel | InBlock, parseNorm},
    {"rmsnorm", InModel | InBlock, parseNorm},
    {"l2norm", InModel | InBlock, parseNorm},
    {"stack", InModel | InBlock, parseStack},
    {"part", InModel | InBlock, parsePart},
    {"block", InFile | InModel, parseBlock},
    {"cell", InFile | InModel, parseBlock},
    {"score", InFile | InModel | InBlock, parseHook},
    {"bias", InFile | InModel | InBlock, parseHook},
    {"mask", InFile | InModel | InBlock, parseHook},
    {"ignore", InModel, parseIgnore},
    {"weights", InModel, parseWeights},
    {"precision", InModel, parsePrecision},
    {"image", InModel, parseImage},
    {"sound", InModel, parseSound},
    {"entry", InModel, parseEntry},
    {"forward", InModel, parseForward},
    {"cache", InModel, parseCache},
    {"state", InModel, parseState},
    {"table", InModel | InBlock, parseTable},
    {"let", InBlock | InEntry, parseLet},
    {"return", InBlock | InEntry, parseReturn},
};

std::vector<llvm::StringRef> itemWords(unsigned scopes) {
  std::vector<llvm::StringRef> words;
  for (const ItemRule &rule : itemRules)
    if (rule.scopes & scopes)
      words.push_back(rule.word);
  return words;
}

const ItemRule *findRule(const Token &token) {
  for (const ItemRule &rule : itemRules)
    if (token.isWord(rule.word))
      return &rule;
  return nullptr;
}

static void parseVersion(Parser &parser, ast::File &result) {
  if (!parser.isWord("attn") || parser.next().is(TokenKind::LeftBrace)) {
    SourceRange start = parser.current().range;
    if (Diagnostic *diagnostic =
            parser.errorAt({start.begin, start.begin}, DiagCode::MissingVersionLine,
                           "a spec begins with the version of the language"))
      diagnostic->help("write `attn 1` as the first line",
                       Edit{{start.begin, start.begin}, "attn 1\n"});
    parser.reportedAt = SIZE_MAX;
    return;
  }
  SourceRange keyword = parser.consume().range;
  if (parser.is(TokenKind::Integer) && parser.current().text == "1") {
    result.version = 1;
    result.versionRange = keyword.to(parser.consume().range);
    return;
  }
  if (parser.is(TokenKind::Integer) || parser.is(TokenKind::Float)) {
    if (Diagnostic *diagnostic = parser.error(DiagCode::UnknownVersion,
                                              "version " + parser.current().text +
                                                  " of the language is not known to this compiler"))
      diagnostic->help("this compiler reads `attn 1`", Edit{parser.current().range, "1"});
    parser.consume();
  } else if (Diagnostic *diagnostic =
                 parser.errorAt(keyword, DiagCode::MissingVersionLine,
                                "`attn` is not followed by the version of the language")) {
    diagnostic->write(keyword, "attn 1");
  }
}

/// The whole file.
static std::unique_ptr<ast::File> parseFile(Parser &parser) {
  auto result = std::make_unique<ast::File>();
  result->comments = std::move(parser.comments);
  parseVersion(parser, *result);
  while (!parser.is(TokenKind::End)) {
    if (parser.is(TokenKind::RightBrace)) {
      if (!parser.strayClosed)
        parser.errorHere(DiagCode::StrayClosing, "this `}` closes nothing");
      parser.strayClosed = true;
      parser.consume();
      continue;
    }
    if (ast::ItemPtr item = parseItem(parser, InFile))
      result->items.push_back(std::move(item));
  }
  return result;
}

SourceRange parseBody(Parser &parser, ItemScope scope, std::vector<ast::ItemPtr> &items) {
  SourceRange open = parser.current().range;
  if (!parser.accept(TokenKind::LeftBrace)) {
    if (Diagnostic *diagnostic =
            parser.error(DiagCode::UnexpectedToken, "expected `{`, but got " + parser.found()))
      diagnostic->help("the body stands between `{` and `}`");
    parser.synchronise();
    return parser.here();
  }
  while (!parser.is(TokenKind::RightBrace)) {
    const ItemRule *rule = findRule(parser.current());
    bool belongsOutside = rule && !(rule->scopes & scope) && (rule->scopes & (InModel | InFile)) &&
                          !parser.bracesBalance;
    if (parser.is(TokenKind::End) || belongsOutside) {
      if (Diagnostic *diagnostic =
              parser.errorAt(open, DiagCode::MissingClosingBrace, "this `{` is never closed"))
        if (!parser.is(TokenKind::End))
          diagnostic->at(parser.current().range,
                         "`" + parser.current().text + "` cannot stand inside it");
      parser.bracesBalance =
          true; // the file lacks one; what else stands in a wrong place is reported as such
      return parser.here();
    }
    if (ast::ItemPtr item = parseItem(parser, scope))
      items.push_back(std::move(item));
  }
  return parser.consume().range;
}

static ast::ItemPtr parseItem(Parser &parser, ItemScope scope) {
  const ItemRule *rule = findRule(parser.current());
  if (!rule) {
    bool isAlone = !parser.position || parser.atLineStart() ||
                   parser.tokens[parser.position - 1].is(TokenKind::RightBrace) ||
                   parser.tokens[parser.position - 1].is(TokenKind::LeftBrace);
    reportNoItem(parser, scope);
    // What was meant, where it is known, tells what follows it.
    std::optional<llvm::StringRef> meant = isAlone ? misspeltItem(parser, scope) : std::nullopt;
    if (meant && parser.next().is(TokenKind::Word)) {
      parser.tokens[parser.position].text = *meant;
      return parseItem(parser, scope);
    }
    // The token itself may be what stops the skipping.
    if (!parser.is(TokenKind::RightBrace))
      parser.consume();
    parser.synchronise();
    return nullptr;
  }
  Parser::Nesting guard(parser);
  if (guard.beyondLimit()) {
    tooDeep(parser, parser.current().range);
    parser.position = parser.tokens.size() - 1;
    return nullptr;
  }
  size_t before = parser.position;
  ast::ItemPtr item;
  if (rule->scopes & scope)
    item = rule->parse(parser);
  else
    item = parseMisplaced(parser, *rule, scope);
  if (item)
    item->range = item->keyword.to(parser.lastRange());
  bool clean = parser.reportedAt <= before || parser.reportedAt == SIZE_MAX;
  bool ended = parser.startsItem() || parser.is(TokenKind::RightBrace) || parser.is(TokenKind::End);
  if (parser.is(TokenKind::Semicolon)) {
    if (Diagnostic *diagnostic =
            parser.error(DiagCode::Semicolon, "items are not separated by `;`"))
      diagnostic->help("leave it out", Edit{parser.current().range, ""});
    while (parser.accept(TokenKind::Semicolon))
      ;
  } else if (!ended) {
    // Behind an error the rest of its line says nothing new.
    if (clean || parser.atLineStart())
      reportNoItem(parser, scope);
    parser.synchronise();
  }
  parser.endSilence();
  return item;
}

static ast::ItemPtr parseMisplaced(Parser &parser, const ItemRule &rule, ItemScope scope) {
  if (!parser.strayClosed) {
    std::string where = scope == InFile    ? "outside of a model"
                        : scope == InModel ? "directly in a model"
                        : scope == InBlock ? "in a block"
                                           : "in the body of an entry";
    Diagnostic *diagnostic = parser.errorHere(DiagCode::MisplacedDeclaration,
                                              "`" + rule.word + "` cannot stand " + where);
    bool inBodies = rule.scopes & (InBlock | InEntry), inModel = rule.scopes & InModel;
    if (diagnostic)
      diagnostic->help(inModel
                           ? llvm::StringRef("write it in the model, outside of blocks and entries")
                       : inBodies ? llvm::StringRef("write it in the body of a block or an entry")
                                  : llvm::StringRef("write it outside of any braces"));
    parser.reportedAt = SIZE_MAX;
  }
  return rule.parse(parser); // its own errors count as well, and the formatter wants it
}

static void reportNoItem(Parser &parser, ItemScope scope) {
  std::string expected = scope == InFile    ? "expected `use`, `model`, `block`, `cell` or a hook"
                         : scope == InModel ? "expected a declaration"
                         : scope == InBlock ? "expected a declaration, `let` or `return`"
                                            : "expected `let` or `return`";
  if (parser.is(TokenKind::RightParen) || parser.is(TokenKind::RightBracket)) {
    parser.errorHere(DiagCode::StrayClosing, "this `" + parser.current().text + "` closes nothing");
    return;
  }
  if (parser.reportForeign())
    return;
  if (std::optional<llvm::StringRef> meant = parser.misspeltOperator()) {
    if (Diagnostic *diagnostic =
            parser.errorAt(parser.lastRange(), DiagCode::UnexpectedToken,
                           "expected an operator behind `" + parser.file.text(parser.lastRange()) +
                               "`, but got " + parser.foundHere()))
      diagnostic->didYouMean(*meant);
    return;
  }
  Diagnostic *diagnostic =
      parser.errorHere(DiagCode::ExpectedDeclaration, expected + ", but got " + parser.foundHere());
  if (!diagnostic || !parser.is(TokenKind::Word))
    return;
  bool assigned = parser.next().is(TokenKind::Equal);
  std::optional<llvm::StringRef> near = misspeltItem(parser, scope);
  if (!near && parser.position && !parser.atLineStart()) // behind an expression
    near = nearestName(parser.current().text,
                       {"and", "or", "along", "as", "group", "over", "optional", "eps"});
  if (near == parser.current().text) // the word is right, its place is not
    near.reset();
  const Token &token = parser.current();
  SourceRange before{token.range.begin, token.range.begin};
  if (near)
    diagnostic->didYouMean(*near);
  else if (advise(*diagnostic, ForeignPlace::Item, token.text))
    return;
  else if (assigned && (scope == InBlock || scope == InEntry))
    diagnostic->help("write `let " + token.text + " = …`", Edit{before, "let "});
  else if (assigned && scope == InModel)
    diagnostic->help("write `dim " + token.text + " = …` for a size", Edit{before, "dim "});
}

static std::optional<llvm::StringRef> misspeltItem(Parser &parser, ItemScope scope) {
  bool isWord = parser.is(TokenKind::Word) && !parser.current().inPath();
  return isWord ? nearestName(parser.current().text, itemWords(scope)) : std::nullopt;
}

std::unique_ptr<ast::File> parse(const SourceFile &file, DiagnosticEngine &diagnostics,
                                 std::optional<SourceRange> part) {
  Parser parser(file, diagnostics, part);
  return parseFile(parser);
}

} // namespace attn::frontend
