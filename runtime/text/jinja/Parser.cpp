// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions, from what binds least to what binds most.
#include "text/jinja/Parser.h"
#include <cerrno>
#include <cstdio>

using namespace attn;
using namespace attn::jinja;

static constexpr int deepestNesting = 100;

bool Parser::is(const char *text) const {
  return now().kind == TokenKind::Operator && now().text.is(text);
}

bool Parser::isName(const char *text) const {
  return now().kind == TokenKind::Name && now().text.is(text);
}

bool Parser::take(const char *text) {
  bool isThere = is(text);
  at += isThere;
  return isThere;
}

bool Parser::takeName(const char *text) {
  bool isThere = isName(text);
  at += isThere;
  return isThere;
}

Node *Parser::expected(const char *what) {
  const Token &token = now();
  switch (token.kind) {
  case TokenKind::Name:
  case TokenKind::Int:
  case TokenKind::Float:
  case TokenKind::Operator:
    diagnostics.fail("R0705", token.at, "expected %s, but got `%.*s`", what,
                     int(token.text.size < 80 ? token.text.size : 80), token.text.data);
    break;
  case TokenKind::String:
    diagnostics.fail("R0705", token.at, "expected %s, but got a string", what);
    break;
  default:
    diagnostics.fail("R0705", token.at, "expected %s, but the %s ends", what,
                     token.kind == TokenKind::EndBlock   ? "block"
                     : token.kind == TokenKind::EndPrint ? "expression"
                                                         : "template");
  }
  return nullptr;
}

Node *Parser::make(NodeKind kind, uint32_t from) {
  auto *node = memory.make<Node>();
  if (!node) {
    diagnostics.fail("R0401", from, "%s", memory.problem());
    return nullptr;
  }
  node->kind = kind, node->at = from;
  return node;
}

Node *Parser::makePair(NodeKind kind, uint32_t from, Node *a, Node *b) {
  Node *node = a && b ? make(kind, from) : nullptr;
  if (node)
    node->a = a, node->b = b;
  return node;
}

Node *Parser::parseExpression(bool allowsTuple) {
  if (++depth > deepestNesting) {
    diagnostics.fail("R0705", now().at, "this is nested too deeply");
    return nullptr;
  }
  uint32_t from = now().at;
  Node *node = parseChoice();
  if (node && allowsTuple && is(",")) {
    Node *tuple = make(NodeKind::List, from), **place = &node->next;
    if (!tuple)
      return nullptr;
    tuple->isSet = true, tuple->first = node;
    while (take(",") && now().kind != TokenKind::EndBlock && now().kind != TokenKind::EndPrint) {
      if (!(*place = parseChoice()))
        return nullptr;
      place = &(*place)->next;
    }
    node = tuple;
  }
  --depth;
  return node;
}

Node *Parser::parseChoice() {
  Node *node = parseOr();
  while (node && isName("if")) {
    uint32_t from = now().at;
    ++at;
    Node *condition = parseOr();
    node = makePair(NodeKind::Choice, from, node, condition);
    if (node && takeName("else") && !(node->c = parseExpression()))
      return nullptr;
  }
  return node;
}

Node *Parser::parseOr() {
  Node *node = parseAnd();
  while (node && isName("or")) {
    uint32_t from = now().at;
    ++at;
    node = makePair(NodeKind::Or, from, node, parseAnd());
  }
  return node;
}

Node *Parser::parseAnd() {
  Node *node = parseNot();
  while (node && isName("and")) {
    uint32_t from = now().at;
    ++at;
    node = makePair(NodeKind::And, from, node, parseNot());
  }
  return node;
}

Node *Parser::parseNot() {
  if (!isName("not"))
    return parseCompare();
  uint32_t from = now().at;
  ++at;
  if (++depth > deepestNesting) {
    diagnostics.fail("R0705", from, "this is nested too deeply");
    return nullptr;
  }
  Node *operand = parseNot(), *node = operand ? make(NodeKind::Not, from) : nullptr;
  --depth;
  if (node)
    node->a = operand;
  return node;
}

/// An operator and what it does.
struct Operator {
  const char *text;
  Operation operation;
};

Node *Parser::parseCompare() {
  static const Operator operators[] = {
      {"==", Operation::Equal},        {"!=", Operation::Unequal}, {"<=", Operation::LessEqual},
      {">=", Operation::GreaterEqual}, {"<", Operation::Less},     {">", Operation::Greater}};
  uint32_t from = now().at;
  Node *node = parseBinary(0);
  Node *compare = nullptr, **place = nullptr;
  while (node) {
    Operation operation = Operation::None;
    uint32_t begin = now().at;
    for (const Operator &known : operators)
      if (operation == Operation::None && take(known.text))
        operation = known.operation;
    if (operation == Operation::None && takeName("in"))
      operation = Operation::In;
    bool isNotIn = operation == Operation::None && isName("not") && at + 1 < tokens.size() &&
                   tokens[at + 1].kind == TokenKind::Name && tokens[at + 1].text.is("in");
    if (isNotIn)
      at += 2, operation = Operation::NotIn;
    if (operation == Operation::None)
      break;
    if (!compare) {
      if (!(compare = make(NodeKind::Compare, from)))
        return nullptr;
      compare->a = node, place = &compare->first;
    }
    Node *operand = make(NodeKind::Operand, begin);
    if (!operand || !(operand->a = parseBinary(0)))
      return nullptr;
    operand->operation = operation;
    *place = operand, place = &operand->next;
  }
  return compare ? compare : node;
}

Node *Parser::parseBinary(int level) {
  static const Operator sums[] = {{"+", Operation::Add}, {"-", Operation::Subtract}, {}},
                        products[] = {{"*", Operation::Multiply},
                                      {"//", Operation::FloorDivide},
                                      {"/", Operation::Divide},
                                      {"%", Operation::Modulo},
                                      {}},
                        powers[] = {{"**", Operation::Power}, {}};
  static const Operator *const levels[] = {sums, products, powers};
  auto operand = [&] {
    return level == 0 ? parseConcat() : level == 1 ? parseBinary(2) : parseUnary(true);
  };
  Node *node = operand();
  while (node) {
    uint32_t from = now().at;
    const Operator *known = levels[level];
    while (known->text && !take(known->text))
      ++known;
    if (!known->text)
      return node;
    Operation operation = known->operation;
    node = makePair(NodeKind::Binary, from, node, operand());
    if (node)
      node->operation = operation;
  }
  return nullptr;
}

Node *Parser::parseConcat() {
  uint32_t from = now().at;
  Node *node = parseBinary(1);
  if (!node || !is("~"))
    return node;
  Node *concat = make(NodeKind::Concat, from), **place = &node->next;
  if (!concat)
    return nullptr;
  concat->first = node;
  while (take("~")) {
    if (!(*place = parseBinary(1)))
      return nullptr;
    place = &(*place)->next;
  }
  return concat;
}

Node *Parser::parseUnary(bool allowsFilters) {
  uint32_t from = now().at;
  Node *node = nullptr;
  if (is("-") || is("+")) {
    Operation operation = is("-") ? Operation::Subtract : Operation::Add;
    ++at;
    if (++depth > deepestNesting) {
      diagnostics.fail("R0705", from, "this is nested too deeply");
      return nullptr;
    }
    Node *operand = parseUnary(false);
    --depth;
    node = operand ? make(NodeKind::Unary, from) : nullptr;
    if (node)
      node->a = operand, node->operation = operation;
  } else {
    node = parsePrimary();
  }
  node = parsePostfix(node);
  return allowsFilters ? parseFilters(node) : node;
}

/// A number of a template, where it fits.
static bool readNumber(const Token &token, Value &value) {
  char digits[64];
  if (token.text.size >= sizeof digits)
    return false;
  memcpy(digits, token.text.data, token.text.size);
  digits[token.text.size] = 0;
  errno = 0;
  value = token.kind == TokenKind::Int ? Value::of(int64_t(strtoll(digits, nullptr, 10)))
                                       : Value::of(strtod(digits, nullptr));
  return errno == 0;
}

Node *Parser::parsePrimary() {
  Token token = now();
  if (take("(")) {
    if (is(")"))
      return parseList(")", NodeKind::List);
    Node *inner = parseExpression();
    if (inner && is(",")) {
      Node *tuple = make(NodeKind::List, token.at);
      ++at;
      Node *rest = tuple ? parseList(")", NodeKind::List) : nullptr;
      if (!rest)
        return nullptr;
      tuple->isSet = true, tuple->first = inner, inner->next = rest->first;
      return tuple;
    }
    return !inner || take(")") ? inner : expected("`)`");
  }
  if (take("["))
    return parseList("]", NodeKind::List);
  if (take("{"))
    return parseList("}", NodeKind::Dict);
  bool isValue = token.kind == TokenKind::String || token.kind == TokenKind::Int ||
                 token.kind == TokenKind::Float;
  if (!isValue && token.kind != TokenKind::Name)
    return expected("a value");
  Node *node = make(isValue ? NodeKind::Literal : NodeKind::Name, token.at);
  if (!node)
    return nullptr;
  ++at;
  node->text = token.text;
  seesCaller |= token.kind == TokenKind::Name && token.text.is("caller");
  auto isWord = [&](const char *a, const char *b) { return token.text.is(a) || token.text.is(b); };
  if (token.kind == TokenKind::Name) {
    bool isTruth = isWord("true", "True"), isLie = isWord("false", "False");
    if (isTruth || isLie || isWord("none", "None"))
      node->kind = NodeKind::Literal,
      node->value = isTruth || isLie ? Value::of(isTruth) : Value::none();
    return node;
  }
  if (token.kind != TokenKind::String) {
    if (!readNumber(token, node->value))
      return diagnostics.fail("R0705", token.at, "this number is too large"), nullptr;
    return node;
  }
  // Strings that follow each other are one.
  Slice text = token.text;
  while (now().kind == TokenKind::String) {
    auto *joined = static_cast<char *>(memory.take(text.size + now().text.size + 1));
    if (!joined || !memory.step(text.size))
      return diagnostics.fail("R0401", token.at, "%s", memory.problem()), nullptr;
    memcpy(joined, text.data, text.size);
    memcpy(joined + text.size, now().text.data, now().text.size);
    text = {joined, text.size + now().text.size};
    ++at;
  }
  node->value = Value::of(text);
  return node;
}

Node *Parser::parseList(const char *end, NodeKind kind) {
  Node *list = make(kind, now().at), **place = list ? &list->first : nullptr;
  if (!list)
    return nullptr;
  list->isSet = *end == ')';
  auto add = [&] {
    *place = parseExpression();
    if (!*place)
      return false;
    place = &(*place)->next;
    return true;
  };
  while (!take(end)) {
    if (!add())
      return nullptr;
    if (kind == NodeKind::Dict) {
      if (!take(":"))
        return expected("`:` and a value");
      if (!add())
        return nullptr;
    }
    if (!take(",") && !is(end))
      return expected(*end == ')' ? "`,` or `)`" : *end == ']' ? "`,` or `]`" : "`,` or `}`");
  }
  return list;
}

Node *Parser::parsePostfix(Node *node) {
  while (node) {
    uint32_t from = now().at;
    if (is(".") && tokens[at + 1].kind == TokenKind::Int) { // `a.0`: an item
      ++at;
      if (!(node = makePair(NodeKind::Item, from, node, parsePrimary())))
        return nullptr;
    } else if (take(".")) {
      Node *member = now().kind == TokenKind::Name ? make(NodeKind::Attribute, now().at)
                                                   : expected("the name of a member");
      if (!member)
        return nullptr;
      member->a = node, member->text = now().text;
      ++at;
      node = member;
    } else if (is("[")) {
      node = parseItem(node);
    } else if (is("(")) {
      Node *call = make(NodeKind::Call, from);
      if (!call || !parseArguments(call))
        return nullptr;
      call->a = node;
      node = call;
    } else {
      return node;
    }
  }
  return nullptr;
}

Node *Parser::parseItem(Node *node) {
  Node *item = make(NodeKind::Item, now().at);
  if (!item)
    return nullptr;
  ++at;
  item->a = node;
  Node **parts[] = {&item->b, &item->c, &item->d};
  for (int part = 0;;) {
    if (!is(":") && !is("]") && !(*parts[part] = parseExpression()))
      return nullptr;
    if (take("]"))
      break;
    if (part == 2 || !take(":"))
      return expected(part == 2 ? "`]`" : "`]` or `:`");
    item->kind = NodeKind::Range, ++part;
  }
  return item->b || item->kind == NodeKind::Range ? item : (--at, expected("an index"));
}

Node *Parser::parseArgument(unsigned &seen) {
  bool isName = now().kind == TokenKind::Name && at + 1 < tokens.size() &&
                tokens[at + 1].kind == TokenKind::Operator && tokens[at + 1].text.is("=");
  bool isPairs = is("**"), isList = is("*");
  enum { Value = 1, List = 2, Named = 4, Pairs = 8 };
  unsigned kind = isPairs ? Pairs : isName ? Named : isList ? List : Value;
  if (seen & (Pairs | (kind == Value ? List | Named : kind == List ? List : 0)))
    return expected(seen & Pairs ? "`)`" : "a name and `=`");
  seen |= kind;
  if (kind == Value)
    return parseExpression();
  Node *node = make(isName ? NodeKind::Keyword : NodeKind::Spread, now().at);
  if (!node)
    return nullptr;
  node->text = now().text, node->isSet = isPairs;
  at += isName ? 2 : 1;
  node->a = parseExpression();
  return node->a ? node : nullptr;
}

bool Parser::parseArguments(Node *node) {
  Node **place = &node->first;
  unsigned seen = 0;
  if (!take("("))
    return expected("`(`"), false;
  while (!take(")")) {
    if (!(*place = parseArgument(seen)))
      return false;
    place = &(*place)->next;
    if (!take(",") && !is(")"))
      return expected("`,` or `)`"), false;
  }
  return true;
}

Node *Parser::parseFilters(Node *node) {
  while (node) {
    if (take("|")) {
      Node *filter = now().kind == TokenKind::Name ? make(NodeKind::Filter, now().at)
                                                   : expected("the name of a filter");
      if (!filter)
        return nullptr;
      filter->a = node, filter->text = now().text;
      ++at;
      if (is("(") && !parseArguments(filter))
        return nullptr;
      node = filter;
    } else if (isName("is")) {
      node = parseTest(node);
    } else if (is("(")) {
      Node *call = make(NodeKind::Call, now().at);
      if (!call || !parseArguments(call))
        return nullptr;
      call->a = node;
      node = call;
    } else {
      return node;
    }
  }
  return nullptr;
}

Node *Parser::parseTest(Node *node) {
  ++at;
  bool isNegated = takeName("not");
  Node *test = now().kind == TokenKind::Name ? make(NodeKind::Test, now().at)
                                             : expected("the name of a test");
  if (!test)
    return nullptr;
  test->a = node, test->text = now().text, test->isSet = isNegated;
  ++at;
  if (is("("))
    return parseArguments(test) ? test : nullptr;
  if (isName("is")) {
    diagnostics.fail("R0705", now().at, "a test follows a test: put the first in parentheses");
    return nullptr;
  }
  bool isArgument =
      now().kind == TokenKind::String || now().kind == TokenKind::Int ||
      now().kind == TokenKind::Float || is("[") || is("{") ||
      (now().kind == TokenKind::Name && !isName("else") && !isName("or") && !isName("and"));
  if (isArgument && !(test->first = parsePostfix(parsePrimary())))
    return nullptr;
  return test;
}
