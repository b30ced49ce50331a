// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hooks (score, bias, mask), `attend` and `scan`.
#include "compiler/frontend/syntax/ParserImpl.h"

namespace attn::frontend {

using namespace ast;

void Parser::parseWith(HookDecl &hook) {
  inWith = true;
  do {
    if (isWord("linear")) {
      auto linear = parseLinearHead();
      linear->range = linear->keyword.to(lastRange());
      hook.with.push_back(std::move(linear));
    } else if (isWord("param") || isWord("input")) {
      auto role = isWord("param") ? ParamDecl::Role::Param : ParamDecl::Role::Input;
      auto param = std::make_unique<ParamDecl>(consume().range, role);
      parseParamGroups(*param, /*inHook=*/true);
      param->range = param->keyword.to(lastRange());
      hook.with.push_back(std::move(param));
    } else {
      error(DiagCode::UnexpectedToken, "expected `linear`, `param` or `input`, but got " + found());
    }
  } while (accept(TokenKind::Comma));
  inWith = false;
}

ItemPtr Parser::parseHook() {
  auto kind = isWord("score")  ? HookDecl::Hook::Score
              : isWord("bias") ? HookDecl::Hook::Bias
                               : HookDecl::Hook::Mask;
  llvm::StringRef word = current().text;
  auto hook = std::make_unique<HookDecl>(consume().range, kind);
  if (std::optional<Name> name = parseName("the name of the " + word.str()))
    hook->name = *name;
  SourceRange open = current().range;
  if (!expect(TokenKind::LeftParen, "before what the " + word + " depends on"))
    return hook;
  parseList(
      TokenKind::RightParen, open,
      [&] {
        if (std::optional<Name> name = parseName("a name"))
          hook->parameters.push_back(*name);
      },
      TokenKind::Semicolon);
  if (accept(TokenKind::Semicolon))
    parseStatics(hook->statics, open);
  if (acceptWord("with"))
    parseWith(*hook);
  if (!accept(TokenKind::Equal)) {
    error(DiagCode::MissingValue,
          "expected `=` and the formula of the " + word + ", but got " + found());
    return hook;
  }
  hook->body = parseExpr();
  checkEquality();
  return hook;
}

void Parser::parseAttendItem(AttendExpr &attend) {
  static constexpr AttendItem::Kind kinds[] = {AttendItem::Kind::Score,  AttendItem::Kind::Bias,
                                               AttendItem::Kind::Cap,    AttendItem::Kind::Mask,
                                               AttendItem::Kind::Weight, AttendItem::Kind::Return};
  for (AttendItem::Kind kind : kinds) {
    if (!isWord(spelling(kind)))
      continue;
    AttendItem item;
    item.kind = kind;
    item.keyword = consume().range;
    if (kind == AttendItem::Kind::Return)
      parseCommas([&] { item.values.push_back(parseExpr()); });
    else
      item.values.push_back(parseExpr());
    checkEquality();
    item.range = item.keyword.to(lastRange());
    attend.body.push_back(std::move(item));
    return;
  }
  if (Diagnostic *diagnostic =
          errorHere(DiagCode::UnknownAttendLine,
                    "expected a line of the attention, but got " + foundHere())) {
    diagnostic->note("a line begins with `score`, `bias`, `cap`, `mask`, `weight` or `return`");
    if (is(TokenKind::Word))
      if (auto near =
              nearestName(current().text, {"score", "bias", "cap", "mask", "weight", "return"}))
        diagnostic->help("did you mean `" + *near + "`?");
  }
  consume();
  // On to the next line that is one.
  auto isLine = [&] {
    for (AttendItem::Kind kind : kinds)
      if (isWord(spelling(kind)))
        return true;
    return false;
  };
  while (!isLine() && !is(TokenKind::RightBrace) && !is(TokenKind::LeftBrace) &&
         !is(TokenKind::End) && !startsItem())
    consume();
}

void Parser::parseAttendBody(AttendExpr &attend) {
  SourceRange open = consume().range;
  attend.hasBody = true;
  while (!is(TokenKind::RightBrace)) {
    // `return` is a line of an attention too; `score`, `bias` and `mask` always are.
    const Token &token = current();
    bool outside = token.isReserved() && token.text != "return" && startsItem();
    if (is(TokenKind::End) || outside || is(TokenKind::LeftBrace)) {
      Diagnostic *diagnostic =
          errorAt(open, DiagCode::MissingClosingBrace, "this `{` is never closed");
      if (diagnostic && outside)
        diagnostic->at(token.range, "`" + token.text + "` cannot stand inside it");
      bracesBalance = true;
      return;
    }
    size_t before = position;
    parseAttendItem(attend);
    if (position == before)
      consume();
  }
  consume();
}

std::optional<AlongAxis> Parser::parseAlongAxis() {
  std::optional<Name> name = parseName("an axis");
  if (!name)
    return std::nullopt;
  AlongAxis along{*name, std::nullopt};
  if (acceptWord("as"))
    along.alias = parseName("the name of the key axis");
  return along;
}

ExprPtr Parser::parseAttend() {
  auto attend = std::make_unique<AttendExpr>(consume().range);
  SourceRange begin = attend->range;
  attend->query = parseExpr();
  if (!expectWord("over", DiagCode::MissingOver, "and the keys and values"))
    return errorExpr(begin.to(lastRange()));
  attend->key = parseExpr();
  if (accept(TokenKind::Comma))
    attend->value = parseExpr();
  if (acceptWord("along")) {
    auto axis = [&] {
      if (std::optional<AlongAxis> along = parseAlongAxis())
        attend->along.push_back(std::move(*along));
    };
    SourceRange open = current().range;
    if (accept(TokenKind::LeftParen))
      parseList(TokenKind::RightParen, open, axis);
    else
      axis();
  } else if (Diagnostic *diagnostic =
                 error(DiagCode::MissingAlong,
                       "expected `along` and the axis of the keys, but got " + found())) {
    diagnostic->help("write `attend q over k, v along S`, or `along T as S` where queries and keys "
                     "share the axis T");
  }
  if (acceptWord("group")) {
    attend->groupAxis = parseName("the axis of the query's heads");
    if (expectWord("by", DiagCode::UnexpectedToken, "and the axis of the key's heads"))
      attend->groupBy = parseName("the axis of the key's heads");
  }
  if (is(TokenKind::LeftBrace))
    parseAttendBody(*attend);
  attend->range = begin.to(lastRange());
  unsigned depth = std::max(attend->query->depth, attend->key->depth);
  if (attend->value)
    depth = std::max(depth, attend->value->depth);
  for (const AttendItem &item : attend->body)
    for (const ExprPtr &value : item.values)
      depth = std::max(depth, value->depth);
  return finish(std::move(attend), depth);
}

ExprPtr Parser::parseScan() {
  Nesting guard(*this);
  if (guard.beyondLimit())
    return tooDeep(current().range);
  auto scan = std::make_unique<ScanExpr>(consume().range);
  SourceRange begin = scan->range;
  scan->cell = parsePostfix();
  if (!expectWord("over", DiagCode::MissingOver, "and what the cell is scanned over"))
    return errorExpr(begin.to(lastRange()));
  scan->over = parseExpr();
  if (!expectWord("along", DiagCode::MissingAlong, "and the axis of the steps"))
    return errorExpr(begin.to(lastRange()));
  if (std::optional<Name> axis = parseName("the axis of the steps"))
    scan->along = *axis;
  if (acceptWord("from"))
    scan->from = parseExpr();
  scan->range = begin.to(lastRange());
  unsigned depth =
      std::max({scan->cell->depth, scan->over->depth, scan->from ? scan->from->depth : 0});
  return finish(std::move(scan), depth);
}

} // namespace attn::frontend
