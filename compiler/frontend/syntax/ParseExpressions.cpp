// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions. Operators from the loosest: `??`, `or`, `and`, `not`, comparisons (which do not
// chain), `+ -`,
// `* / %`, unary `-`, `**` (to the right), application and indexing. Trees are bounded in height,
// so that nobody who walks one recursively can run out of stack.
#include "compiler/frontend/syntax/ParserImpl.h"

#include "llvm/ADT/StringExtras.h"

namespace attn::frontend {

using namespace ast;

constexpr unsigned deepestNesting =
    400;                               ///< Of brackets and of operators that recurse while parsing.
constexpr unsigned tallestTree = 1000; ///< Also bounds chains such as `a + b + c + …`.

bool Parser::Nesting::beyondLimit() const { return parser.nesting > deepestNesting; }

ExprPtr Parser::tooDeep(SourceRange range) {
  if (Diagnostic *diagnostic =
          errorAt(range, DiagCode::NestedTooDeeply, "this is nested too deeply"))
    diagnostic
        ->note("at most " + llvm::Twine(deepestNesting) + " levels of brackets, and " +
               llvm::Twine(tallestTree) + " operators in a row")
        .help("name parts of it with `let`");
  silent = true; // all open brackets would be reported next
  while (!is(TokenKind::End) && !startsItem())
    consume();
  return errorExpr(range);
}

ExprPtr Parser::finish(ExprPtr expr, unsigned childDepth) {
  expr->depth = childDepth + 1;
  if (expr->depth > tallestTree)
    return tooDeep(expr->range);
  return expr;
}

ExprPtr Parser::missingExpression() {
  if (current().isReserved() && !startsItem()) {
    if (Diagnostic *diagnostic =
            error(DiagCode::KeywordAsName, "expected an expression, but got `" + current().text +
                                               "`, a word of the language"))
      (void)diagnostic;
    return errorExpr(here());
  }
  error(DiagCode::MissingExpression, "expected an expression, but got " + found());
  return errorExpr(here());
}

ExprPtr Parser::parseExpr() { return parseBinary(0); }

namespace {
struct OperatorRule {
  BinaryOp op;
  unsigned level; ///< Higher binds tighter.
};

constexpr unsigned notLevel = 3;
constexpr unsigned comparisonLevel = 4;

std::optional<OperatorRule> binaryOperator(const Token &token) {
  switch (token.kind) {
  case TokenKind::Word:
    if (token.isWord("or"))
      return OperatorRule{BinaryOp::Or, 1};
    if (token.isWord("and"))
      return OperatorRule{BinaryOp::And, 2};
    return std::nullopt;
  case TokenKind::QuestionQuestion:
    return OperatorRule{BinaryOp::Coalesce, 0};
  case TokenKind::EqualEqual:
    return OperatorRule{BinaryOp::Equal, comparisonLevel};
  case TokenKind::NotEqual:
    return OperatorRule{BinaryOp::NotEqual, comparisonLevel};
  case TokenKind::Less:
    return OperatorRule{BinaryOp::Less, comparisonLevel};
  case TokenKind::LessEqual:
    return OperatorRule{BinaryOp::LessEqual, comparisonLevel};
  case TokenKind::Greater:
    return OperatorRule{BinaryOp::Greater, comparisonLevel};
  case TokenKind::GreaterEqual:
    return OperatorRule{BinaryOp::GreaterEqual, comparisonLevel};
  case TokenKind::Plus:
    return OperatorRule{BinaryOp::Add, 5};
  case TokenKind::Minus:
    return OperatorRule{BinaryOp::Subtract, 5};
  case TokenKind::Star:
    return OperatorRule{BinaryOp::Multiply, 6};
  case TokenKind::Slash:
    return OperatorRule{BinaryOp::Divide, 6};
  case TokenKind::Percent:
    return OperatorRule{BinaryOp::Remainder, 6};
  default:
    return std::nullopt;
  }
}
} // namespace

/// All left-associative operators, by climbing: those of level `lowest` and tighter.
ExprPtr Parser::parseBinary(unsigned lowest) {
  Nesting guard(*this);
  if (guard.beyondLimit())
    return tooDeep(current().range);
  ExprPtr left;
  if (isWord("not") && lowest <= notLevel) {
    SourceRange begin = consume().range;
    ExprPtr operand = parseBinary(notLevel);
    unsigned depth = operand->depth;
    SourceRange range = begin.to(operand->range);
    left = finish(std::make_unique<UnaryExpr>(range, UnaryOp::Not, std::move(operand)), depth);
  } else {
    left = parseUnary();
  }
  bool compared = false;
  while (std::optional<OperatorRule> rule = binaryOperator(current())) {
    if (rule->level < lowest)
      break;
    if (rule->level == comparisonLevel && compared) {
      if (Diagnostic *diagnostic = error(DiagCode::ChainedComparison, "comparisons do not chain"))
        diagnostic->at(left->range, "this is already a comparison").help("write `a < b and b < c`");
    }
    compared = rule->level == comparisonLevel;
    SourceRange opRange = consume().range;
    ExprPtr right = parseBinary(rule->level + 1);
    unsigned depth = std::max(left->depth, right->depth);
    left = finish(
        std::make_unique<BinaryExpr>(rule->op, opRange, std::move(left), std::move(right)), depth);
  }
  return left;
}

ExprPtr Parser::parseUnary() {
  if (is(TokenKind::Plus)) {
    error(DiagCode::UnexpectedToken, "there is no unary `+`");
    consume();
  }
  if (!is(TokenKind::Minus))
    return parsePower();
  Nesting guard(*this);
  if (guard.beyondLimit())
    return tooDeep(current().range);
  SourceRange begin = consume().range;
  ExprPtr operand = parseUnary();
  unsigned depth = operand->depth;
  SourceRange range = begin.to(operand->range);
  return finish(std::make_unique<UnaryExpr>(range, UnaryOp::Negate, std::move(operand)), depth);
}

ExprPtr Parser::parsePower() {
  ExprPtr base = parsePostfix();
  if (!is(TokenKind::StarStar))
    return base;
  Nesting guard(*this);
  if (guard.beyondLimit())
    return tooDeep(current().range);
  SourceRange opRange = consume().range;
  ExprPtr exponent = parseUnary();
  unsigned depth = std::max(base->depth, exponent->depth);
  return finish(
      std::make_unique<BinaryExpr>(BinaryOp::Power, opRange, std::move(base), std::move(exponent)),
      depth);
}

void Parser::parseArguments(std::vector<Argument> &arguments) {
  SourceRange open = consume().range;
  parseList(TokenKind::RightParen, open, [&] {
    Argument argument;
    argument.value = parseExpr();
    auto *path = llvm::dyn_cast<PathExpr>(argument.value.get());
    if (is(TokenKind::Equal) && path && path->path.isName()) {
      consume();
      argument.name = path->path.parts.front();
      argument.value = parseExpr();
    }
    checkEquality();
    if (acceptWord("by"))
      argument.by = parseExpr();
    arguments.push_back(std::move(argument));
  });
}

ExprPtr Parser::parsePostfix() {
  ExprPtr base = parsePrimary();
  while (true) {
    unsigned depth = base->depth;
    SourceRange begin = base->range;
    if (is(TokenKind::LeftParen)) {
      auto call = std::make_unique<CallExpr>(begin, std::move(base));
      parseArguments(call->arguments);
      call->range = begin.to(lastRange());
      for (const Argument &argument : call->arguments)
        depth = std::max({depth, argument.value->depth, argument.by ? argument.by->depth : 0});
      base = finish(std::move(call), depth);
    } else if (is(TokenKind::LeftBracket)) {
      SourceRange open = consume().range;
      auto index = std::make_unique<IndexExpr>(begin, std::move(base));
      parseList(TokenKind::RightBracket, open, [&] { index->indices.push_back(parseExpr()); });
      index->range = begin.to(lastRange());
      for (const ExprPtr &expr : index->indices)
        depth = std::max(depth, expr->depth);
      if (index->indices.empty())
        errorAt(open.to(lastRange()), DiagCode::MissingExpression,
                "expected an index between `[` and `]`");
      base = finish(std::move(index), depth);
    } else {
      return base;
    }
    if (silent)
      return base;
  }
}

ExprPtr Parser::parseNumber() {
  Token token = consume();
  if (token.is(TokenKind::Integer)) {
    int64_t value = 0;
    if (token.text.getAsInteger(10, value))
      if (Diagnostic *diagnostic = errorAt(token.range, DiagCode::NumberTooLarge,
                                           "this number does not fit into 64 bits"))
        diagnostic->note("the largest is 9223372036854775807");
    return std::make_unique<IntegerExpr>(token.range, value);
  }
  double value = 0;
  if (token.text.getAsDouble(value) && token.text.front() != '.')
    errorAt(token.range, DiagCode::NumberTooLarge, "this number does not fit into a 64-bit float");
  return std::make_unique<FloatExpr>(token.range, value);
}

ExprPtr Parser::parseParenthesised() {
  SourceRange open = consume().range;
  std::vector<ExprPtr> elements;
  parseList(TokenKind::RightParen, open, [&] {
    elements.push_back(parseExpr());
    checkEquality();
  });
  SourceRange range = open.to(lastRange());
  if (elements.empty()) {
    errorAt(range, DiagCode::MissingExpression, "expected an expression between `(` and `)`");
    return errorExpr(range);
  }
  if (elements.size() == 1) {
    ExprPtr inner = std::move(elements.front());
    inner->range = range;
    inner->parenthesised = true;
    return inner;
  }
  auto tuple = std::make_unique<TupleExpr>(range);
  unsigned depth = 0;
  for (const ExprPtr &element : elements)
    depth = std::max(depth, element->depth);
  tuple->elements = std::move(elements);
  return finish(std::move(tuple), depth);
}

void Parser::checkEquality() {
  if (!is(TokenKind::Equal))
    return;
  if (Diagnostic *diagnostic = error(DiagCode::AssignmentForEquality, "`=` does not compare"))
    diagnostic->help("write `==`");
  consume();
  parseExpr();
}

ExprPtr Parser::parseIf() {
  auto choice = std::make_unique<IfExpr>(consume().range);
  SourceRange begin = choice->range;
  choice->condition = parseExpr();
  checkEquality();
  if (!expectWord("then", DiagCode::MissingElse, "after the condition of `if`"))
    return errorExpr(begin.to(lastRange()));
  choice->thenValue = parseExpr();
  if (!expectWord("else", DiagCode::MissingElse, "since an `if` always has a value"))
    return errorExpr(begin.to(lastRange()));
  choice->elseValue = parseExpr();
  choice->range = begin.to(lastRange());
  unsigned depth =
      std::max({choice->condition->depth, choice->thenValue->depth, choice->elseValue->depth});
  return finish(std::move(choice), depth);
}

ExprPtr Parser::parsePrimary() {
  const Token &token = current();
  switch (token.kind) {
  case TokenKind::Integer:
  case TokenKind::Float:
    return parseNumber();
  case TokenKind::String: {
    Token string = consume();
    return std::make_unique<StringExpr>(string.range, stringValue(string.text));
  }
  case TokenKind::LeftParen:
    return parseParenthesised();
  case TokenKind::Word:
    if (token.text == "if")
      return parseIf();
    if (token.text == "attend")
      return parseAttend();
    if (token.text == "scan")
      return parseScan();
    // `dim(q)` is a function; elsewhere the word begins a declaration.
    if (token.isWord("dim") && next().is(TokenKind::LeftParen)) {
      Token word = consume();
      ast::Name name{word.text.str(), word.range};
      return std::make_unique<PathExpr>(Path{{name}, word.range});
    }
    if (token.isReserved() && misnamed.contains(token.text)) {
      Token word = consume();
      return std::make_unique<PathExpr>(Path{{{word.text.str(), word.range}}, word.range});
    }
    if (token.isReserved())
      return missingExpression();
    if (std::optional<Path> path = parsePath("a name"))
      return std::make_unique<PathExpr>(std::move(*path));
    return errorExpr(here());
  case TokenKind::Dot:
    if (next().afterDot && llvm::isDigit(next().text.front())) {
      SourceRange range = token.range.to(next().range);
      if (Diagnostic *diagnostic =
              errorAt(range, DiagCode::MalformedNumber, "a number begins with a digit"))
        diagnostic->help("write `0" + file.text(range) + "`");
      consume();
      consume();
      return errorExpr(range);
    }
    return missingExpression();
  default:
    return missingExpression();
  }
}

} // namespace attn::frontend
