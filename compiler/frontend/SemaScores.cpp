// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The score of an attention: a formula of one query and one key -> its region.
#include "compiler/frontend/SemaImpl.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
using mlir::Location;

/// What the names of a score's formula stand for.
struct Sema::ScoreScope {
  mlir::OpBuilder &builder;
  Location loc;
  mlir::Block &block;
  int64_t features;
};

/// A number known when compiling, a scalar of the pair, or one of the vectors.
struct Sema::ScoreValue {
  enum class Kind { Error, Number, Scalar, Vector } kind = Kind::Error;
  double number = 0;
  mlir::Value value;
};

bool Sema::buildScore(const Expr *score, mlir::OpBuilder &inner, Location loc, mlir::Block &block) {
  auto vector = llvm::cast<mlir::RankedTensorType>(block.getArgument(0).getType());
  ScoreScope pair{inner, loc, block, vector.getDimSize(0)};
  mlir::Value result;
  auto dot = [&] {
    return DotOp::create(inner, loc, inner.getF32Type(), block.getArgument(0), block.getArgument(1))
        .getResult();
  };
  auto scale = [&](mlir::Value value, double factor) -> mlir::Value {
    return mlir::arith::MulFOp::create(inner, loc, value, constantOf(inner, loc, factor));
  };
  auto *path = llvm::dyn_cast_or_null<PathExpr>(score);
  if (score && !path) {
    if (llvm::isa<CallExpr>(score))
      unsupported(score->range, "a score with arguments");
    else
      error(DiagCode::UnknownScore, score->range, "expected the name of a score")
          .note("declare it: `score mine(q, k) = dot(q, k) * 0.5`");
    return false;
  }
  std::string name = path ? path->path.str() : "scaled_dot";
  Decl *decl = path ? scope->find(name) : nullptr;
  if (decl)
    decl->used = true;
  auto *hook = decl && decl->kind == Decl::Kind::Hook ? llvm::cast<HookDecl>(decl->item) : nullptr;
  if (hook && hook->hook == HookDecl::Hook::Score) {
    if (decl->wrong)
      return false;
    ScoreValue value = evalScore(*hook->body, pair);
    if (value.kind == ScoreValue::Kind::Error)
      return false;
    if (value.kind != ScoreValue::Kind::Scalar) {
      error(DiagCode::ScoreExpression, hook->body->range,
            value.kind == ScoreValue::Kind::Vector
                ? "a score is one number for each pair, but this is a vector"
                : "this score does not depend on the query and the key")
          .help("write `dot(q, k)`");
      return false;
    }
    result = value.value;
  } else if (!decl && name == "dot") {
    result = dot();
  } else if (!decl && name == "scaled_dot") {
    result = scale(dot(), 1 / std::sqrt(static_cast<double>(pair.features)));
  } else {
    Diagnostic &diagnostic =
        error(DiagCode::UnknownScore, path->range,
              decl ? "`" + name + "` is no score" : "there is no score `" + name + "`");
    if (decl)
      diagnostic.at(decl->range, "declared here");
    std::vector<llvm::StringRef> names = {"dot", "scaled_dot"};
    for (Scope *s = scope; s; s = s->parent)
      for (Decl *other : s->order)
        if (other->kind == Decl::Kind::Hook &&
            llvm::cast<HookDecl>(other->item)->hook == HookDecl::Hook::Score)
          names.push_back(other->name);
    if (auto near = nearestName(name, names))
      diagnostic.help("did you mean `" + *near + "`?");
    else
      diagnostic.note("the scores are " + llvm::join(names, ", "));
    return false;
  }
  YieldOp::create(inner, loc, result);
  return true;
}

void Sema::checkScore(Decl &decl) {
  auto &hook = *llvm::cast<HookDecl>(decl.item);
  if (decl.wrong || hook.hook != HookDecl::Hook::Score)
    return;
  // A pair of vectors that is thrown away with all that is built on it.
  Location loc = locate(decl.range);
  auto vector = mlir::RankedTensorType::get({64}, builder.getF32Type());
  auto scratch = mlir::ModuleOp::create(loc);
  mlir::Block &pair = scratch.getBodyRegion().emplaceBlock();
  pair.addArguments({vector, vector}, {loc, loc});
  mlir::OpBuilder inner(&mlirContext);
  inner.setInsertionPointToEnd(&pair);
  ScoreScope names{inner, loc, pair, 64};
  evalScore(*hook.body, names);
  scratch.erase();
}

Sema::ScoreValue Sema::evalScoreCall(const CallExpr &call, ScoreScope &pair) {
  auto *callee = llvm::dyn_cast<PathExpr>(call.callee.get());
  std::string name = callee ? callee->path.str() : "";
  std::vector<ScoreValue> arguments;
  for (const Argument &argument : call.arguments) {
    arguments.push_back(evalScore(*argument.value, pair));
    if (arguments.back().kind == ScoreValue::Kind::Error)
      return {};
  }
  using Kind = ScoreValue::Kind;
  auto wrong = [&](const llvm::Twine &usage) -> ScoreValue {
    error(DiagCode::ScoreExpression, call.range, "`" + name + "` is not applied to this")
        .help("write `" + usage + "`");
    return {};
  };
  if (name == "dot") {
    if (arguments.size() != 2 || arguments[0].kind != Kind::Vector ||
        arguments[1].kind != Kind::Vector)
      return wrong("dot(q, k)");
    return {Kind::Scalar, 0,
            DotOp::create(pair.builder, pair.loc, pair.builder.getF32Type(), arguments[0].value,
                          arguments[1].value)};
  }
  if (name == "dim") {
    if (arguments.size() != 1 || arguments[0].kind != Kind::Vector)
      return wrong("dim(q)");
    return {Kind::Number, static_cast<double>(pair.features), {}};
  }
  bool known =
      name == "sqrt" || name == "rsqrt" || name == "exp" || name == "tanh" || name == "abs";
  if (!known) {
    if (name == "unit" || name == "softmax")
      unsupported(call.range, "`" + name + "` in a score");
    else
      error(DiagCode::ScoreExpression, call.callee->range,
            "there is no function `" + (callee ? name : source.text(call.callee->range).str()) +
                "` in a score")
          .note("a score consists of dot(q, k), dim(q), numbers, `+ - * /`, sqrt, rsqrt, exp, tanh "
                "and abs");
    return {};
  }
  if (arguments.size() != 1 || arguments[0].kind == Kind::Vector)
    return wrong(name + "(dot(q, k))");
  if (arguments[0].kind == Kind::Number) {
    double x = arguments[0].number;
    double value = name == "sqrt"    ? std::sqrt(x)
                   : name == "rsqrt" ? 1 / std::sqrt(x)
                   : name == "exp"   ? std::exp(x)
                   : name == "tanh"  ? std::tanh(x)
                                     : std::fabs(x);
    if (!std::isfinite(value))
      return wrong(name + "(dim(q))");
    return {Kind::Number, value, {}};
  }
  mlir::Value x = arguments[0].value, value;
  if (name == "sqrt")
    value = mlir::math::SqrtOp::create(pair.builder, pair.loc, x);
  else if (name == "rsqrt")
    value = mlir::math::RsqrtOp::create(pair.builder, pair.loc, x);
  else if (name == "exp")
    value = mlir::math::ExpOp::create(pair.builder, pair.loc, x);
  else if (name == "tanh")
    value = mlir::math::TanhOp::create(pair.builder, pair.loc, x);
  else
    value = mlir::math::AbsFOp::create(pair.builder, pair.loc, x);
  return {Kind::Scalar, 0, value};
}

Sema::ScoreValue Sema::evalScore(const Expr &expr, ScoreScope &pair) {
  using Kind = ScoreValue::Kind;
  auto materialise = [&](const ScoreValue &value) -> mlir::Value {
    if (value.kind == Kind::Scalar)
      return value.value;
    return mlir::arith::ConstantOp::create(
        pair.builder, pair.loc, pair.builder.getF32FloatAttr(static_cast<float>(value.number)));
  };
  if (auto *integer = llvm::dyn_cast<IntegerExpr>(&expr))
    return {Kind::Number, static_cast<double>(integer->value), {}};
  if (auto *number = llvm::dyn_cast<FloatExpr>(&expr))
    return {Kind::Number, number->value, {}};
  if (auto *call = llvm::dyn_cast<CallExpr>(&expr))
    return evalScoreCall(*call, pair);
  if (auto *path = llvm::dyn_cast<PathExpr>(&expr)) {
    std::string name = path->path.str();
    if (name == "q" || name == "k")
      return {Kind::Vector, 0, pair.block.getArgument(name == "q" ? 0 : 1)};
    Decl *decl = modelScope.find(name);
    if (decl && decl->kind == Decl::Kind::Dim && !decl->dynamic) {
      decl->used = true;
      const Size &size = sizeOf(*decl);
      return size.error ? ScoreValue{}
                        : ScoreValue{Kind::Number, static_cast<double>(size.offset), {}};
    }
    error(DiagCode::ScoreExpression, expr.range, "there is no `" + name + "` in a score")
        .note("a score is a function of the query `q` and the key `k`, in numbers and dims");
    return {};
  }
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(&expr); unary && unary->op == UnaryOp::Negate) {
    ScoreValue value = evalScore(*unary->operand, pair);
    if (value.kind == Kind::Number)
      return {Kind::Number, -value.number, {}};
    if (value.kind == Kind::Scalar)
      return {Kind::Scalar, 0, mlir::arith::NegFOp::create(pair.builder, pair.loc, value.value)};
    if (value.kind == Kind::Error)
      return value;
  }
  auto *binary = llvm::dyn_cast<BinaryExpr>(&expr);
  bool arithmetic = binary && (binary->op == BinaryOp::Add || binary->op == BinaryOp::Subtract ||
                               binary->op == BinaryOp::Multiply || binary->op == BinaryOp::Divide ||
                               binary->op == BinaryOp::Power);
  if (arithmetic) {
    ScoreValue left = evalScore(*binary->left, pair), right = evalScore(*binary->right, pair);
    if (left.kind == Kind::Error || right.kind == Kind::Error)
      return {};
    if (left.kind == Kind::Number && right.kind == Kind::Number) {
      double a = left.number, b = right.number;
      double value = binary->op == BinaryOp::Add        ? a + b
                     : binary->op == BinaryOp::Subtract ? a - b
                     : binary->op == BinaryOp::Multiply ? a * b
                     : binary->op == BinaryOp::Divide   ? a / b
                                                        : std::pow(a, b);
      if (std::isfinite(value))
        return {Kind::Number, value, {}};
      error(DiagCode::NumberExpected, expr.range, "the result is no finite number");
      return {};
    }
    if (left.kind != Kind::Vector && right.kind != Kind::Vector && binary->op != BinaryOp::Power) {
      mlir::Value a = materialise(left), b = materialise(right), value;
      switch (binary->op) {
      case BinaryOp::Add:
        value = mlir::arith::AddFOp::create(pair.builder, pair.loc, a, b);
        break;
      case BinaryOp::Subtract:
        value = mlir::arith::SubFOp::create(pair.builder, pair.loc, a, b);
        break;
      case BinaryOp::Multiply:
        value = mlir::arith::MulFOp::create(pair.builder, pair.loc, a, b);
        break;
      default:
        value = mlir::arith::DivFOp::create(pair.builder, pair.loc, a, b);
      }
      return {Kind::Scalar, 0, value};
    }
    unsupported(expr.range, "arithmetic on vectors in a score");
    return {};
  }
  if (!llvm::isa<ErrorExpr>(expr))
    error(DiagCode::ScoreExpression, expr.range, "this cannot stand in a score")
        .note("a score consists of dot(q, k), dim(q), numbers, `+ - * /`, sqrt, rsqrt, exp, tanh "
              "and abs");
  return {};
}

} // namespace attn::frontend
