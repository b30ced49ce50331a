// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions. Operators from the loosest: `??`, `or`, `and`, `not`, comparisons (which do not
// chain), `+ -`,
// `* / %`, unary `-`, `**` (to the right), application and indexing. Trees are bounded in height,
// so that nobody who walks one recursively can run out of stack.
#include "compiler/frontend/syntax/ParseExpressions.h"
#include "compiler/frontend/syntax/ParseAttention.h"
#include "compiler/frontend/syntax/ParseParts.h"

#include "llvm/ADT/StringExtras.h"

namespace attn::frontend {

using namespace ast;

/// All left-associative operators, by climbing: those of level `lowest` and tighter.
static ast::ExprPtr parseBinary(Parser &parser, unsigned lowest);

static ast::ExprPtr parseUnary(Parser &parser);

static ast::ExprPtr parsePower(Parser &parser);

static ast::ExprPtr parsePrimary(Parser &parser);

constexpr unsigned deepestNesting =
    400;                               ///< Of brackets and of operators that recurse while parsing.
constexpr unsigned tallestTree = 1000; ///< Also bounds chains such as `a + b + c + …`.

bool Parser::Nesting::beyondLimit() const { return parser.nesting > deepestNesting; }

ExprPtr tooDeep(Parser &parser, SourceRange range) {
  if (Diagnostic *diagnostic =
          parser.errorAt(range, DiagCode::NestedTooDeeply, "this is nested too deeply"))
    diagnostic
        ->note("at most " + llvm::Twine(deepestNesting) + " levels of brackets, and " +
               llvm::Twine(tallestTree) + " operators in a row")
        .help("name parts of it with `let`");
  parser.synchronise();
  parser.silent = true; // all open brackets would be reported next
  return errorExpr(range);
}

ExprPtr finish(Parser &parser, ExprPtr expr, unsigned childDepth) {
  expr->depth = childDepth + 1;
  if (expr->depth > tallestTree)
    return tooDeep(parser, expr->range);
  return expr;
}

/// Reports that there is no expression here.
static ExprPtr missingExpression(Parser &parser) {
  if (parser.current().isReserved() && !parser.startsItem()) {
    if (Diagnostic *diagnostic = parser.error(
            DiagCode::KeywordAsName, "expected an expression, but got `" + parser.current().text +
                                         "`, a word of the language"))
      (void)diagnostic;
    return errorExpr(parser.here());
  }
  Diagnostic *diagnostic = parser.error(DiagCode::MissingExpression,
                                        "expected an expression, but got " + parser.found());
  if (diagnostic && parser.is(TokenKind::StarStar))
    diagnostic->help("arguments are written out, each by itself");
  if (diagnostic && parser.is(TokenKind::Colon))
    diagnostic->help("`slice(x, N from 0 to 5 as S)` takes a part along an axis, `pick(x, N at 0)` "
                     "one place of it");
  return errorExpr(parser.here());
}

ExprPtr parseExpr(Parser &parser) { return parseBinary(parser, 0); }

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

/// `a < b and b` for `a < b`, of which `left` consists.
static std::optional<Edit> secondComparison(const Parser &parser, const Expr &left) {
  auto *first = llvm::dyn_cast<BinaryExpr>(&left);
  if (!first)
    return std::nullopt;
  return Edit{{left.range.end, left.range.end},
              (" and " + parser.file.text(first->right->range)).str()};
}

static ExprPtr parseBinary(Parser &parser, unsigned lowest) {
  Parser::Nesting guard(parser);
  if (guard.beyondLimit())
    return tooDeep(parser, parser.current().range);
  ExprPtr left;
  if (parser.isWord("not") && lowest <= notLevel) {
    SourceRange begin = parser.consume().range;
    ExprPtr operand = parseBinary(parser, notLevel);
    unsigned depth = operand->depth;
    SourceRange range = begin.to(operand->range);
    left =
        finish(parser, std::make_unique<UnaryExpr>(range, UnaryOp::Not, std::move(operand)), depth);
  } else {
    left = parseUnary(parser);
  }
  bool compared = false;
  while (std::optional<OperatorRule> rule = binaryOperator(parser.current())) {
    if (rule->level < lowest)
      break;
    if (rule->level == comparisonLevel && compared) {
      if (Diagnostic *diagnostic =
              parser.error(DiagCode::ChainedComparison, "comparisons do not chain"))
        diagnostic->at(left->range, "this is already a comparison")
            .help("write `a < b and b < c`", secondComparison(parser, *left));
    }
    compared = rule->level == comparisonLevel;
    SourceRange opRange = parser.consume().range;
    ExprPtr right = parseBinary(parser, rule->level + 1);
    unsigned depth = std::max(left->depth, right->depth);
    left = finish(
        parser, std::make_unique<BinaryExpr>(rule->op, opRange, std::move(left), std::move(right)),
        depth);
  }
  return left;
}

static ExprPtr parseUnary(Parser &parser) {
  if (parser.is(TokenKind::Plus)) {
    parser.error(DiagCode::UnexpectedToken, "there is no unary `+`");
    parser.consume();
  }
  if (!parser.is(TokenKind::Minus))
    return parsePower(parser);
  Parser::Nesting guard(parser);
  if (guard.beyondLimit())
    return tooDeep(parser, parser.current().range);
  SourceRange begin = parser.consume().range;
  ExprPtr operand = parseUnary(parser);
  unsigned depth = operand->depth;
  SourceRange range = begin.to(operand->range);
  return finish(parser, std::make_unique<UnaryExpr>(range, UnaryOp::Negate, std::move(operand)),
                depth);
}

static ExprPtr parsePower(Parser &parser) {
  ExprPtr base = parsePostfix(parser);
  if (!parser.is(TokenKind::StarStar))
    return base;
  Parser::Nesting guard(parser);
  if (guard.beyondLimit())
    return tooDeep(parser, parser.current().range);
  SourceRange opRange = parser.consume().range;
  ExprPtr exponent = parseUnary(parser);
  unsigned depth = std::max(base->depth, exponent->depth);
  return finish(
      parser,
      std::make_unique<BinaryExpr>(BinaryOp::Power, opRange, std::move(base), std::move(exponent)),
      depth);
}

/// `by -shift`, `at index`, `where keep`, `from 1 to 5 as S`: what stands behind an argument.
static void parseClauses(Parser &parser, Argument &argument) {
  if (parser.acceptWord("by")) {
    argument.by = parseExpr(parser);
  } else if (parser.acceptWord("at")) {
    argument.at = parseExpr(parser);
  } else if (parser.acceptWord("where")) {
    argument.where = parseExpr(parser);
  } else if (parser.acceptWord("from")) {
    argument.from = parseExpr(parser);
    if (parser.expectWord("to", DiagCode::UnexpectedToken, "and where the elements end"))
      argument.to = parseExpr(parser);
  }
  if (parser.acceptWord("as"))
    argument.as = parseExpr(parser);
}

void parseArguments(Parser &parser, std::vector<Argument> &arguments) {
  SourceRange open = parser.consume().range;
  parser.parseList(TokenKind::RightParen, open, [&] {
    Argument argument;
    if (parser.isWord("dim") && parser.next().is(TokenKind::Equal)) { // `softmax(x, dim=-1)`
      Token word = parser.consume();
      argument.value =
          std::make_unique<PathExpr>(Path{{{word.text.str(), word.range}}, word.range});
    } else {
      argument.value = parseExpr(parser);
    }
    auto *path = llvm::dyn_cast<PathExpr>(argument.value.get());
    if (parser.is(TokenKind::Equal) && path && path->path.isName()) {
      parser.consume();
      argument.name = path->path.parts.front();
      argument.value = parseExpr(parser);
    }
    if (parser.is(TokenKind::Equal) && !path) {
      std::string size = parser.file.text(argument.value->range).str();
      if (Diagnostic *diagnostic = parser.error(
              DiagCode::UnexpectedToken, "a name stands before `=`, but `" + size + "` is none"))
        diagnostic->help("give the size a name, such as `dim N = " + size + "`, and write `N = …`");
      parser.consume();
      argument.value = parseExpr(parser);
    }
    checkEquality(parser);
    parseClauses(parser, argument);
    arguments.push_back(std::move(argument));
  });
}

ExprPtr parsePostfix(Parser &parser) {
  ExprPtr base = parsePrimary(parser);
  while (true) {
    unsigned depth = base->depth;
    SourceRange begin = base->range;
    if (parser.is(TokenKind::LeftParen)) {
      auto call = std::make_unique<CallExpr>(begin, std::move(base));
      parseArguments(parser, call->arguments);
      call->range = begin.to(parser.lastRange());
      for (const Argument &argument : call->arguments) {
        depth = std::max(depth, argument.value->depth);
        for (auto [word, clause] : argument.clauses())
          depth = std::max(depth, clause->depth);
      }
      base = finish(parser, std::move(call), depth);
    } else if (parser.is(TokenKind::LeftBracket)) {
      SourceRange open = parser.consume().range;
      auto index = std::make_unique<IndexExpr>(begin, std::move(base));
      parser.parseList(TokenKind::RightBracket, open,
                       [&] { index->indices.push_back(parseExpr(parser)); });
      index->range = begin.to(parser.lastRange());
      for (const ExprPtr &expr : index->indices)
        depth = std::max(depth, expr->depth);
      if (index->indices.empty())
        parser.errorAt(open.to(parser.lastRange()), DiagCode::MissingExpression,
                       "expected an index between `[` and `]`");
      base = finish(parser, std::move(index), depth);
    } else {
      return base;
    }
    if (parser.silent)
      return base;
  }
}

static ExprPtr parseNumber(Parser &parser) {
  Token token = parser.consume();
  if (token.is(TokenKind::Integer)) {
    int64_t value = 0;
    if (token.text.getAsInteger(10, value))
      if (Diagnostic *diagnostic = parser.errorAt(token.range, DiagCode::NumberTooLarge,
                                                  "this number does not fit into 64 bits"))
        diagnostic->note("the largest is 9223372036854775807");
    return std::make_unique<IntegerExpr>(token.range, value);
  }
  double value = 0;
  if (token.text.getAsDouble(value) && token.text.front() != '.')
    parser.errorAt(token.range, DiagCode::NumberTooLarge,
                   "this number does not fit into a 64-bit float");
  return std::make_unique<FloatExpr>(token.range, value);
}

static ExprPtr parseParenthesised(Parser &parser) {
  SourceRange open = parser.consume().range;
  std::vector<ExprPtr> elements;
  parser.parseList(TokenKind::RightParen, open, [&] {
    elements.push_back(parseExpr(parser));
    checkEquality(parser);
  });
  SourceRange range = open.to(parser.lastRange());
  if (elements.empty()) {
    parser.errorAt(range, DiagCode::MissingExpression,
                   "expected an expression between `(` and `)`");
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
  return finish(parser, std::move(tuple), depth);
}

void checkEquality(Parser &parser) {
  if (!parser.is(TokenKind::Equal))
    return;
  if (Diagnostic *diagnostic =
          parser.error(DiagCode::AssignmentForEquality, "`=` does not compare"))
    diagnostic->write(parser.current().range, "==");
  parser.consume();
  parseExpr(parser);
}

static ExprPtr parseIf(Parser &parser) {
  auto choice = std::make_unique<IfExpr>(parser.consume().range);
  SourceRange begin = choice->range;
  choice->condition = parseExpr(parser);
  checkEquality(parser);
  if (!parser.expectWord("then", DiagCode::MissingElse, "after the condition of `if`"))
    return errorExpr(begin.to(parser.lastRange()));
  choice->thenValue = parseExpr(parser);
  if (!parser.expectWord("else", DiagCode::MissingElse, "since an `if` always has a value"))
    return errorExpr(begin.to(parser.lastRange()));
  choice->elseValue = parseExpr(parser);
  choice->range = begin.to(parser.lastRange());
  unsigned depth =
      std::max({choice->condition->depth, choice->thenValue->depth, choice->elseValue->depth});
  return finish(parser, std::move(choice), depth);
}

static ExprPtr parsePrimary(Parser &parser) {
  const Token &token = parser.current();
  switch (token.kind) {
  case TokenKind::Integer:
  case TokenKind::Float:
    return parseNumber(parser);
  case TokenKind::String: {
    Token string = parser.consume();
    return std::make_unique<StringExpr>(string.range, stringValue(string.text));
  }
  case TokenKind::LeftParen:
    return parseParenthesised(parser);
  case TokenKind::Word:
    if (token.isWord("if"))
      return parseIf(parser);
    if (token.isWord("attend"))
      return parseAttend(parser);
    if (token.isWord("scan"))
      return parseScan(parser);
    // `dim(q)` is a function; elsewhere the word begins a declaration.
    if (token.isWord("dim") && parser.next().is(TokenKind::LeftParen)) {
      Token word = parser.consume();
      ast::Name name{word.text.str(), word.range};
      return std::make_unique<PathExpr>(Path{{name}, word.range});
    }
    if (token.isReserved() && parser.misnamed.contains(token.text)) {
      Token word = parser.consume();
      return std::make_unique<PathExpr>(Path{{{word.text.str(), word.range}}, word.range});
    }
    if (token.isReserved())
      return missingExpression(parser);
    if (std::optional<Path> path = parsePath(parser, "a name"))
      return std::make_unique<PathExpr>(std::move(*path));
    return errorExpr(parser.here());
  case TokenKind::Dot:
    if (parser.next().afterDot && llvm::isDigit(parser.next().text.front())) {
      SourceRange range = token.range.to(parser.next().range);
      if (Diagnostic *diagnostic =
              parser.errorAt(range, DiagCode::MalformedNumber, "a number begins with a digit"))
        diagnostic->write(range, "0" + parser.file.text(range));
      parser.consume();
      parser.consume();
      return errorExpr(range);
    }
    return missingExpression(parser);
  default:
    return missingExpression(parser);
  }
}

} // namespace attn::frontend
