// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements: blocks with bodies, and what they assign to.
#include "text/jinja/Parser.h"
#include <cstdio>

using namespace attn;
using namespace attn::jinja;

bool Parser::takeBlockEnd() {
  if (now().kind != TokenKind::EndBlock)
    return expected("`%}`"), false;
  ++at;
  return true;
}

Node *Parser::parseBody(const char *const *ends) {
  Node *body = make(NodeKind::Body, now().at), **place = body ? &body->first : nullptr;
  while (body) {
    const Token &token = now();
    if (token.kind == TokenKind::End) {
      if (!ends)
        return body;
      diagnostics.fail("R0705", token.at, "expected `{%% %s %%}`, but the template ends", *ends);
      return nullptr;
    }
    if (token.kind == TokenKind::BeginBlock && ends && at + 1 < tokens.size())
      for (const char *const *end = ends; *end; ++end)
        if (tokens[at + 1].kind == TokenKind::Name && tokens[at + 1].text.is(*end))
          return body;
    ++at;
    Node *made = nullptr;
    if (token.kind == TokenKind::Data) {
      made = make(NodeKind::Data, token.at);
      if (made)
        made->text = token.text;
    } else if (token.kind == TokenKind::BeginPrint) {
      Node *value = parseExpression(/*allowsTuple=*/true);
      if (value && now().kind != TokenKind::EndPrint)
        return expected("`}}`");
      ++at;
      made = value ? make(NodeKind::Print, token.at) : nullptr;
      if (made)
        made->a = value;
    } else {
      made = parseStatement();
    }
    if (!made)
      return nullptr;
    *place = made, place = &made->next;
  }
  return nullptr;
}

Node *Parser::parseStatement() {
  if (now().kind != TokenKind::Name)
    return expected("a statement");
  if (++depth > 100) {
    diagnostics.fail("R0705", now().at, "this is nested too deeply");
    return nullptr;
  }
  Node *made = nullptr;
  bool isBreak = isName("break"), isContinue = isName("continue");
  if (isName("if")) {
    made = parseIf();
  } else if (isName("for")) {
    made = parseFor();
  } else if (isName("set")) {
    made = parseSet();
  } else if (isName("macro")) {
    made = parseMacro();
  } else if (isName("call")) {
    made = parseCallBlock();
  } else if (isName("generation")) {
    made = parseGeneration();
  } else if ((isBreak || isContinue) && loops > 0) {
    made = make(isBreak ? NodeKind::Break : NodeKind::Continue, now().at);
    ++at;
    made = takeBlockEnd() ? made : nullptr;
  } else if (isBreak || isContinue) {
    diagnostics.fail("R0705", now().at, "`%s` stands in no loop", isBreak ? "break" : "continue");
  } else {
    expected(
        "if, for, set, macro, call, break, continue or generation, which are what chat templates "
        "are read with");
  }
  --depth;
  return made;
}

bool Parser::takeEndBlock(const char *name) {
  ++at; // `{%`
  if (!takeName(name))
    return expected(name), false;
  if (strcmp(name, "endmacro") == 0 && now().kind == TokenKind::Name)
    ++at; // its own name again
  return takeBlockEnd();
}

bool Parser::parseBodyInto(Node *node, const char *end) {
  const char *const ends[] = {end, nullptr};
  Node *body = takeBlockEnd() ? parseBody(ends) : nullptr;
  if (!body)
    return false;
  node->first = body->first;
  return takeEndBlock(end);
}

Node *Parser::parseIf() {
  static const char *const ends[] = {"elif", "else", "endif", nullptr};
  Node *node = make(NodeKind::If, now().at), *last = node;
  ++at;
  while (last) {
    last->b = parseExpression(/*allowsTuple=*/true);
    Node *body = last->b && takeBlockEnd() ? parseBody(ends) : nullptr;
    if (!body)
      return nullptr;
    last->first = body->first;
    ++at; // `{%`
    uint32_t from = now().at;
    if (takeName("elif")) {
      Node *other = make(NodeKind::Body, from);
      Node *inner = other ? make(NodeKind::If, from) : nullptr;
      if (!inner)
        return nullptr;
      other->first = inner;
      last->a = other, last = inner;
      continue;
    }
    if (takeName("else")) {
      static const char *const endif[] = {"endif", nullptr};
      last->a = takeBlockEnd() ? parseBody(endif) : nullptr;
      return last->a && takeEndBlock("endif") ? node : nullptr;
    }
    ++at; // `endif`
    return takeBlockEnd() ? node : nullptr;
  }
  return nullptr;
}

Node *Parser::parseTarget(bool allowsMember) {
  uint32_t from = now().at;
  bool hasParentheses = !allowsMember && take("(");
  Node *list = nullptr, **place = nullptr;
  while (true) {
    if (now().kind != TokenKind::Name)
      return expected("a name");
    Node *name = make(NodeKind::Name, now().at);
    if (!name)
      return nullptr;
    name->text = now().text;
    ++at;
    if (!list && allowsMember && take(".")) {
      if (now().kind != TokenKind::Name)
        return expected("the name of a member");
      Node *member = make(NodeKind::Attribute, name->at);
      if (member)
        member->a = name, member->text = now().text;
      ++at;
      return member;
    }
    if (!list && !is(","))
      return !hasParentheses || take(")") ? name : expected("`)`");
    if (!list) {
      if (!(list = make(NodeKind::List, from)))
        return nullptr;
      place = &list->first;
    }
    *place = name, place = &name->next;
    if (!take(","))
      return !hasParentheses || take(")") ? list : expected("`)`");
  }
}

Node *Parser::parseFor() {
  static const char *const ends[] = {"else", "endfor", nullptr}, *const endfor[] = {"endfor",
                                                                                    nullptr};
  Node *node = make(NodeKind::For, now().at);
  ++at;
  if (!node || !(node->a = parseTarget(/*allowsMember=*/false)))
    return nullptr;
  if (!takeName("in"))
    return expected("`in`");
  if (!(node->b = parseOr()))
    return nullptr;
  if (takeName("if") && !(node->c = parseExpression()))
    return nullptr;
  if (isName("recursive")) {
    diagnostics.fail("R0705", now().at, "loops that call themselves (`recursive`) are not read");
    return nullptr;
  }
  ++loops;
  Node *body = takeBlockEnd() ? parseBody(ends) : nullptr;
  --loops;
  if (!body)
    return nullptr;
  node->first = body->first;
  if (tokens[at + 1].text.is("endfor"))
    return takeEndBlock("endfor") ? node : nullptr;
  at += 2; // `{% else`
  node->d = takeBlockEnd() ? parseBody(endfor) : nullptr;
  return node->d && takeEndBlock("endfor") ? node : nullptr;
}

Node *Parser::parseSet() {
  Node *node = make(NodeKind::Set, now().at);
  ++at;
  if (!node || !(node->a = parseTarget(/*allowsMember=*/true)))
    return nullptr;
  if (take("="))
    return (node->b = parseExpression(/*allowsTuple=*/true)) && takeBlockEnd() ? node : nullptr;
  node->kind = NodeKind::SetBlock;
  if (is("|")) {
    // The body takes the place of an empty operand.
    Node *hole = make(NodeKind::Literal, now().at);
    node->b = parseFilters(hole);
    if (!node->b)
      return nullptr;
    node->c = hole;
  }
  if (now().kind != TokenKind::EndBlock)
    return expected("`=` and a value, or `%}`");
  return parseBodyInto(node, "endset") ? node : nullptr;
}

Node *Parser::parseMacro() {
  Node *node = make(NodeKind::Macro, now().at);
  ++at;
  if (!node || now().kind != TokenKind::Name)
    return expected("the macro's name");
  node->text = now().text;
  ++at;
  return parseMacroRest(node, "endmacro") ? node : nullptr;
}

bool Parser::parseMacroRest(Node *node, const char *end) {
  node->a = make(NodeKind::List, now().at);
  bool hasNone = strcmp(end, "endcall") == 0 && !is("(");
  if (!node->a || (!hasNone && !parseArguments(node->a)))
    return false;
  for (Node *parameter = node->a->first; parameter; parameter = parameter->next)
    if (parameter->kind != NodeKind::Name && parameter->kind != NodeKind::Keyword)
      return diagnostics.fail("R0705", parameter->at, "expected a parameter's name");
  // What is called stands between the parameters of its caller and the body.
  if (end[3] == 'c' && !(node->b = parseExpression()))
    return false;
  int outer = loops;
  bool isOfOuter = seesCaller;
  loops = 0, seesCaller = false;
  bool isRead = parseBodyInto(node, end);
  node->isSet = seesCaller;
  loops = outer, seesCaller |= isOfOuter;
  return isRead;
}

Node *Parser::parseCallBlock() {
  Node *node = make(NodeKind::CallBlock, now().at);
  Node *body = node ? make(NodeKind::Macro, now().at) : nullptr;
  ++at;
  if (!body)
    return nullptr;
  body->text = Slice("caller");
  if (!parseMacroRest(body, "endcall"))
    return nullptr;
  node->a = body->b, node->b = body;
  if (node->a->kind != NodeKind::Call) {
    diagnostics.fail("R0705", node->a->at, "expected a call of a macro");
    return nullptr;
  }
  return node;
}

Node *Parser::parseGeneration() {
  Node *node = make(NodeKind::Body, now().at);
  ++at;
  return node && parseBodyInto(node, "endgeneration") ? node : nullptr;
}

const Node *jinja::parse(Slice source, Memory &memory, Diagnostics &diagnostics) {
  Vector<Token> tokens;
  if (!Lexer(source, memory, diagnostics, tokens).run())
    return nullptr;
  return Parser(tokens, memory, diagnostics).parseBody(nullptr);
}
