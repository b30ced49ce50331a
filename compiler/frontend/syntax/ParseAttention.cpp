// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hooks (score, bias, mask), `attend` and `scan`.
#include "compiler/frontend/syntax/ParseAttention.h"
#include "compiler/frontend/syntax/ForeignWords.h"
#include "compiler/frontend/syntax/ParseDeclarations.h"
#include "compiler/frontend/syntax/ParseExpressions.h"
#include "compiler/frontend/syntax/ParseParts.h"

namespace attn::frontend {

using namespace ast;

static void parseWith(Parser &parser, HookDecl &hook) {
  parser.inWith = true;
  do {
    if (parser.isWord("linear")) {
      auto linear = parseLinearHead(parser);
      linear->range = linear->keyword.to(parser.lastRange());
      hook.with.push_back(std::move(linear));
    } else if (parser.isWord("param") || parser.isWord("input")) {
      auto role = parser.isWord("param") ? ParamDecl::Role::Param : ParamDecl::Role::Input;
      auto param = std::make_unique<ParamDecl>(parser.consume().range, role);
      parseParamGroups(parser, *param, /*inHook=*/true);
      param->range = param->keyword.to(parser.lastRange());
      hook.with.push_back(std::move(param));
    } else {
      parser.error(DiagCode::UnexpectedToken,
                   "expected `linear`, `param` or `input`, but got " + parser.found());
    }
  } while (parser.accept(TokenKind::Comma));
  parser.inWith = false;
}

ItemPtr parseHook(Parser &parser) {
  auto kind = parser.isWord("score")  ? HookDecl::Hook::Score
              : parser.isWord("bias") ? HookDecl::Hook::Bias
                                      : HookDecl::Hook::Mask;
  llvm::StringRef word = parser.current().text;
  auto hook = std::make_unique<HookDecl>(parser.consume().range, kind);
  if (std::optional<Name> name = parseName(parser, "the name of the " + word.str()))
    hook->name = *name;
  SourceRange open = parser.current().range;
  if (!parser.expect(TokenKind::LeftParen, "before what the " + word + " depends on"))
    return hook;
  parser.parseList(
      TokenKind::RightParen, open,
      [&] {
        if (std::optional<Name> name = parseName(parser, "a name"))
          hook->parameters.push_back(*name);
      },
      TokenKind::Semicolon);
  if (parser.accept(TokenKind::Semicolon))
    parseStatics(parser, hook->statics, open);
  if (parser.acceptWord("with"))
    parseWith(parser, *hook);
  if (!parser.accept(TokenKind::Equal)) {
    parser.error(DiagCode::MissingValue,
                 "expected `=` and the formula of the " + word + ", but got " + parser.found());
    return hook;
  }
  hook->body = parseExpr(parser);
  checkEquality(parser);
  return hook;
}

static void parseAttendItem(Parser &parser, AttendExpr &attend) {
  static constexpr AttendItem::Kind kinds[] = {AttendItem::Kind::Score,  AttendItem::Kind::Bias,
                                               AttendItem::Kind::Cap,    AttendItem::Kind::Mask,
                                               AttendItem::Kind::Weight, AttendItem::Kind::Return};
  for (AttendItem::Kind kind : kinds) {
    if (!parser.isWord(spelling(kind)))
      continue;
    AttendItem item;
    item.kind = kind;
    item.keyword = parser.consume().range;
    if (parser.is(TokenKind::Equal) || parser.is(TokenKind::Colon)) {
      std::string line = spelling(kind).str() + " " + parser.next().text.str();
      if (Diagnostic *diagnostic =
              parser.error(DiagCode::UnexpectedToken, "a line of an attention has no " +
                                                          parser.foundHere() + " behind its word"))
        diagnostic->help("leave it out: `" + line + "`", Edit{parser.current().range, ""});
      parser.consume();
    }
    if (kind == AttendItem::Kind::Return)
      parser.parseCommas([&] { item.values.push_back(parseExpr(parser)); });
    else
      item.values.push_back(parseExpr(parser));
    checkEquality(parser);
    item.range = item.keyword.to(parser.lastRange());
    attend.body.push_back(std::move(item));
    return;
  }
  if (Diagnostic *diagnostic =
          parser.errorHere(DiagCode::UnknownAttendLine,
                           "expected a line of the attention, but got " + parser.foundHere())) {
    diagnostic->note("a line begins with `score`, `bias`, `cap`, `mask`, `weight` or `return`");
    if (parser.is(TokenKind::Word) &&
        !advise(*diagnostic, ForeignPlace::Line, parser.current().text))
      if (auto near = nearestName(parser.current().text, attendWords()))
        diagnostic->didYouMean(*near);
  }
  parser.consume();
  // On to the next line that is one.
  auto isLine = [&] {
    for (AttendItem::Kind kind : kinds)
      if (parser.isWord(spelling(kind)))
        return true;
    return false;
  };
  while (!isLine() && !parser.is(TokenKind::RightBrace) && !parser.is(TokenKind::LeftBrace) &&
         !parser.is(TokenKind::End) && !parser.startsItem())
    parser.consume();
}

static void parseAttendBody(Parser &parser, AttendExpr &attend) {
  SourceRange open = parser.consume().range;
  attend.hasBody = true;
  while (!parser.is(TokenKind::RightBrace)) {
    // `return` is a line of an attention too; `score`, `bias` and `mask` always are.
    const Token &token = parser.current();
    bool outside = token.isReserved() && token.text != "return" && parser.startsItem();
    if (parser.is(TokenKind::End) || outside || parser.is(TokenKind::LeftBrace)) {
      Diagnostic *diagnostic =
          parser.errorAt(open, DiagCode::MissingClosingBrace, "this `{` is never closed");
      if (diagnostic && outside)
        diagnostic->at(token.range, "`" + token.text + "` cannot stand inside it");
      parser.bracesBalance = true;
      return;
    }
    size_t before = parser.position;
    parseAttendItem(parser, attend);
    if (parser.position == before)
      parser.consume();
  }
  parser.consume();
}

std::optional<AlongAxis> parseAlongAxis(Parser &parser) {
  std::optional<Name> name = parseName(parser, "an axis");
  if (!name)
    return std::nullopt;
  bool isSum = parser.is(TokenKind::Plus) || parser.is(TokenKind::Minus) ||
               parser.is(TokenKind::Star) || parser.is(TokenKind::Slash);
  if (isSum && parser.ahead(2).isWord("as")) {
    std::string size = parser.file.text(name->range.to(parser.next().range)).str();
    if (Diagnostic *diagnostic =
            parser.errorAt(name->range.to(parser.next().range), DiagCode::UnexpectedToken,
                           "`along` takes the name of an axis, but `" + size + "` is calculated"))
      diagnostic->help("give the size a name, such as `dim N = " + size +
                       "`, where keys and values are made, and write `along N as …`");
    parser.consume();
    parser.consume();
  }
  AlongAxis along{*name, std::nullopt};
  if (parser.acceptWord("as"))
    along.alias = parseName(parser, "the name of the key axis");
  return along;
}

/// `group H by G`.
static void parseGroup(Parser &parser, AttendExpr &attend) {
  parser.consume();
  bool isName = parser.is(TokenKind::Word);
  bool isPair = isName && (parser.next().isWord("by") || parser.next().is(TokenKind::Word));
  if (!isPair) {
    if (Diagnostic *diagnostic =
            parser.error(DiagCode::UnexpectedToken,
                         "expected the axis of the query's heads, `by`, and that of the keys' "
                         "heads, but got " +
                             parser.found()))
      diagnostic->help("name the axes, not their sizes: `group H by G` of queries [B, T, H, E] and "
                       "keys [B, S, G, E]");
    while (!parser.is(TokenKind::LeftBrace) && !parser.is(TokenKind::RightBrace) &&
           !parser.is(TokenKind::End) && !parser.atLineStart())
      parser.consume();
    return;
  }
  attend.groupAxis = parseName(parser, "the axis of the query's heads");
  if (parser.expectWord("by", DiagCode::UnexpectedToken, "and the axis of the key's heads"))
    attend.groupBy = parseName(parser, "the axis of the key's heads");
}

ExprPtr parseAttend(Parser &parser) {
  auto attend = std::make_unique<AttendExpr>(parser.consume().range);
  SourceRange begin = attend->range;
  attend->query = parseExpr(parser);
  if (parser.is(TokenKind::Comma))
    if (Diagnostic *diagnostic =
            parser.error(DiagCode::MissingOver,
                         "expected `over` and the keys and values, but got " + parser.found()))
      diagnostic->help("write `attend q over k, v along T as S`",
                       Edit{parser.current().range, " over"});
  if (!parser.expectWord("over", DiagCode::MissingOver, "and the keys and values"))
    return errorExpr(begin.to(parser.lastRange()));
  attend->key = parseExpr(parser);
  bool isCommaMissing = parser.is(TokenKind::Word) && !parser.isWord("along") &&
                        !parser.atLineStart() &&
                        (parser.next().is(TokenKind::LeftParen) || parser.next().isWord("along"));
  if (isCommaMissing)
    if (Diagnostic *diagnostic =
            parser.error(DiagCode::UnexpectedToken,
                         "expected `,` between keys and values, but got " + parser.found()))
      diagnostic->help("write `" + parser.file.text(attend->key->range) + ", " +
                           parser.current().text + "`",
                       Edit{parser.here(), ","});
  if (isCommaMissing || parser.accept(TokenKind::Comma))
    attend->value = parseExpr(parser);
  if (parser.acceptWord("along")) {
    auto axis = [&] {
      if (std::optional<AlongAxis> along = parseAlongAxis(parser))
        attend->along.push_back(std::move(*along));
    };
    SourceRange open = parser.current().range;
    bool isList = parser.accept(TokenKind::LeftParen);
    if (isList && !parser.is(TokenKind::RightParen))
      parser.parseList(TokenKind::RightParen, open, axis);
    else
      axis(); // says so of an empty list
  } else if (Diagnostic *diagnostic = parser.error(
                 DiagCode::MissingAlong,
                 "expected `along` and the axis of the keys, but got " + parser.found())) {
    diagnostic->help("write `attend q over k, v along S`, or `along T as S` where queries and keys "
                     "share the axis T");
  }
  if (parser.isWord("group"))
    parseGroup(parser, *attend);
  if (parser.is(TokenKind::LeftBrace))
    parseAttendBody(parser, *attend);
  attend->range = begin.to(parser.lastRange());
  unsigned depth = std::max(attend->query->depth, attend->key->depth);
  if (attend->value)
    depth = std::max(depth, attend->value->depth);
  for (const AttendItem &item : attend->body)
    for (const ExprPtr &value : item.values)
      depth = std::max(depth, value->depth);
  return finish(parser, std::move(attend), depth);
}

ExprPtr parseScan(Parser &parser) {
  Parser::Nesting guard(parser);
  if (guard.beyondLimit())
    return tooDeep(parser, parser.current().range);
  auto scan = std::make_unique<ScanExpr>(parser.consume().range);
  SourceRange begin = scan->range;
  scan->cell = parsePostfix(parser);
  if (!parser.expectWord("over", DiagCode::MissingOver, "and what the cell is scanned over"))
    return errorExpr(begin.to(parser.lastRange()));
  scan->over = parseExpr(parser);
  if (!parser.expectWord("along", DiagCode::MissingAlong, "and the axis of the steps"))
    return errorExpr(begin.to(parser.lastRange()));
  if (std::optional<Name> axis = parseName(parser, "the axis of the steps"))
    scan->along = *axis;
  scan->isReverse = parser.acceptWord("reverse");
  if (parser.acceptWord("from"))
    scan->from = parseExpr(parser);
  if (parser.acceptWord("lengths"))
    scan->lengths = parseExpr(parser);
  scan->range = begin.to(parser.lastRange());
  unsigned depth =
      std::max({scan->cell->depth, scan->over->depth, scan->from ? scan->from->depth : 0,
                scan->lengths ? scan->lengths->depth : 0});
  return finish(parser, std::move(scan), depth);
}

} // namespace attn::frontend
