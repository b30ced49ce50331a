// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas of scores, biases and masks: an expression of one query and one key -> scalar ops of a
// region.
#include "compiler/frontend/SemaFormulas.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
namespace arith = mlir::arith;
namespace math = mlir::math;
using Kind = FormulaValue::Kind;

llvm::StringRef Formula::consistsOf() const {
  switch (hook) {
  case HookDecl::Hook::Score:
    return "a score consists of dot(q, k), dim(q), numbers, `+ - * /`, sqrt, rsqrt, exp, tanh "
           "and abs";
  case HookDecl::Hook::Bias:
    return "a bias consists of positions, numbers, `+ - * / % **`, comparisons, `if`, min, max, "
           "floor, sqrt, rsqrt, exp, tanh and abs";
  case HookDecl::Hook::Mask:
    return "a mask consists of positions and numbers that are compared, and of `and`, `or`, `not`";
  }
  llvm_unreachable("a hook");
}

FormulaValue Formula::truth(bool value) const {
  return {Kind::Truth, 0, arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value))};
}

bool Formula::isWhole(const FormulaValue &value) const {
  return value.kind == Kind::Position ||
         (value.kind == Kind::Number && std::fabs(value.number) < 1 << 30 &&
          value.number == std::floor(value.number));
}

mlir::Value Formula::position(const FormulaValue &value) const {
  if (value.kind == Kind::Position)
    return value.value;
  return arith::ConstantIndexOp::create(builder, loc, static_cast<int64_t>(value.number));
}

mlir::Value Formula::scalar(const FormulaValue &value) const {
  if (value.kind == Kind::Scalar)
    return value.value;
  if (value.kind == Kind::Number)
    return constantOf(builder, loc, value.number);
  mlir::Value number = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value.value);
  return arith::SIToFPOp::create(builder, loc, builder.getF32Type(), number);
}

//===-- operators ---------------------------------------------------------------------------===//

/// a % b of integers has the sign of b, like that of positions in a grid.
static mlir::Value remainder(const Formula &formula, mlir::Value a, mlir::Value b) {
  mlir::OpBuilder &builder = formula.builder;
  mlir::Value rest = arith::RemSIOp::create(builder, formula.loc, a, b);
  mlir::Value shifted = arith::AddIOp::create(builder, formula.loc, rest, b);
  return arith::RemSIOp::create(builder, formula.loc, shifted, b);
}

static std::optional<double> fold(BinaryOp op, double a, double b) {
  double value = op == BinaryOp::Add         ? a + b
                 : op == BinaryOp::Subtract  ? a - b
                 : op == BinaryOp::Multiply  ? a * b
                 : op == BinaryOp::Divide    ? a / b
                 : op == BinaryOp::Remainder ? a - b * std::floor(a / b)
                                             : std::pow(a, b);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

FormulaValue Sema::formulaArithmetic(const BinaryExpr &binary, Formula &formula) {
  FormulaValue left = evalFormula(*binary.left, formula),
               right = evalFormula(*binary.right, formula);
  if (left.kind == Kind::Error || right.kind == Kind::Error)
    return {};
  mlir::OpBuilder &builder = formula.builder;
  mlir::Location loc = formula.loc;
  if (left.kind == Kind::Number && right.kind == Kind::Number) {
    if (auto value = fold(binary.op, left.number, right.number))
      return {Kind::Number, *value, {}};
    error(DiagCode::NumberExpected, binary.range, "the result is no finite number");
    return {};
  }
  if (left.kind == Kind::Vector || right.kind == Kind::Vector) {
    unsupported(binary.range, "arithmetic on vectors in a score");
    return {};
  }
  if (left.kind == Kind::Truth || right.kind == Kind::Truth)
    return wrongFormula(binary.range, "truth values cannot be calculated with", formula);
  bool whole = formula.isWhole(left) && formula.isWhole(right);
  switch (binary.op) {
  case BinaryOp::Add:
    if (whole)
      return {Kind::Position, 0,
              arith::AddIOp::create(builder, loc, formula.position(left), formula.position(right))};
    return {Kind::Scalar, 0,
            arith::AddFOp::create(builder, loc, formula.scalar(left), formula.scalar(right))};
  case BinaryOp::Subtract:
    if (whole)
      return {Kind::Position, 0,
              arith::SubIOp::create(builder, loc, formula.position(left), formula.position(right))};
    return {Kind::Scalar, 0,
            arith::SubFOp::create(builder, loc, formula.scalar(left), formula.scalar(right))};
  case BinaryOp::Multiply:
    if (whole)
      return {Kind::Position, 0,
              arith::MulIOp::create(builder, loc, formula.position(left), formula.position(right))};
    return {Kind::Scalar, 0,
            arith::MulFOp::create(builder, loc, formula.scalar(left), formula.scalar(right))};
  case BinaryOp::Divide:
    return {Kind::Scalar, 0,
            arith::DivFOp::create(builder, loc, formula.scalar(left), formula.scalar(right))};
  case BinaryOp::Remainder:
    if (whole && right.kind == Kind::Number && right.number > 0)
      return {Kind::Position, 0,
              remainder(formula, formula.position(left), formula.position(right))};
    return wrongFormula(binary.range, "`%` takes a position and a positive whole number", formula);
  default:
    break;
  }
  // a ** x = 2 ** (x * log2(a)); x ** 2 is a product.
  if (left.kind == Kind::Number && left.number > 0) {
    mlir::Value exponent = arith::MulFOp::create(builder, loc, formula.scalar(right),
                                                 constantOf(builder, loc, std::log2(left.number)));
    return {Kind::Scalar, 0, math::Exp2Op::create(builder, loc, exponent)};
  }
  if (right.kind == Kind::Number && right.number == 2) {
    mlir::Value base = formula.scalar(left);
    return {Kind::Scalar, 0, arith::MulFOp::create(builder, loc, base, base)};
  }
  return wrongFormula(binary.range, "`**` takes a positive number on its left, or 2 on its right",
                      formula);
}

FormulaValue Sema::formulaComparison(const BinaryExpr &binary, Formula &formula) {
  FormulaValue left = evalFormula(*binary.left, formula),
               right = evalFormula(*binary.right, formula);
  if (left.kind == Kind::Error || right.kind == Kind::Error)
    return {};
  auto isNumber = [](const FormulaValue &value) {
    return value.kind == Kind::Number || value.kind == Kind::Position || value.kind == Kind::Scalar;
  };
  if (!isNumber(left) || !isNumber(right))
    return wrongFormula(binary.range, "only numbers and positions can be compared", formula);
  struct Predicates {
    arith::CmpIPredicate whole;
    arith::CmpFPredicate real;
  } predicates = [&]() -> Predicates {
    using I = arith::CmpIPredicate;
    using F = arith::CmpFPredicate;
    switch (binary.op) {
    case BinaryOp::Equal:
      return {I::eq, F::OEQ};
    case BinaryOp::NotEqual:
      return {I::ne, F::UNE};
    case BinaryOp::Less:
      return {I::slt, F::OLT};
    case BinaryOp::LessEqual:
      return {I::sle, F::OLE};
    case BinaryOp::Greater:
      return {I::sgt, F::OGT};
    default:
      return {I::sge, F::OGE};
    }
  }();
  if (formula.isWhole(left) && formula.isWhole(right))
    return {Kind::Truth, 0,
            arith::CmpIOp::create(formula.builder, formula.loc, predicates.whole,
                                  formula.position(left), formula.position(right))};
  return {Kind::Truth, 0,
          arith::CmpFOp::create(formula.builder, formula.loc, predicates.real, formula.scalar(left),
                                formula.scalar(right))};
}

/// `a and b`, `a or b`.
FormulaValue Sema::formulaConnective(const BinaryExpr &binary, Formula &formula) {
  FormulaValue left = evalFormula(*binary.left, formula),
               right = evalFormula(*binary.right, formula);
  if (left.kind == Kind::Error || right.kind == Kind::Error)
    return {};
  if (left.kind != Kind::Truth || right.kind != Kind::Truth)
    return wrongFormula((left.kind == Kind::Truth ? binary.right : binary.left)->range,
                        "`" + spelling(binary.op) + "` joins truth values, but this is none",
                        formula);
  if (binary.op == BinaryOp::And)
    return {Kind::Truth, 0,
            arith::AndIOp::create(formula.builder, formula.loc, left.value, right.value)};
  return {Kind::Truth, 0,
          arith::OrIOp::create(formula.builder, formula.loc, left.value, right.value)};
}

FormulaValue Sema::formulaUnary(const UnaryExpr &unary, Formula &formula) {
  FormulaValue value = evalFormula(*unary.operand, formula);
  if (value.kind == Kind::Error)
    return {};
  mlir::OpBuilder &builder = formula.builder;
  mlir::Location loc = formula.loc;
  if (unary.op == UnaryOp::Not) {
    if (value.kind != Kind::Truth)
      return wrongFormula(unary.range, "`not` is applied to a truth value", formula);
    return {Kind::Truth, 0,
            arith::XOrIOp::create(builder, loc, value.value, formula.truth(true).value)};
  }
  if (value.kind == Kind::Number)
    return {Kind::Number, -value.number, {}};
  if (value.kind == Kind::Scalar)
    return {Kind::Scalar, 0, arith::NegFOp::create(builder, loc, value.value)};
  if (value.kind == Kind::Position) {
    mlir::Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    return {Kind::Position, 0, arith::SubIOp::create(builder, loc, zero, value.value)};
  }
  return wrongFormula(unary.range, "this has no negative", formula);
}

FormulaValue Sema::formulaChoice(const IfExpr &choice, Formula &formula) {
  FormulaValue condition = evalFormula(*choice.condition, formula),
               yes = evalFormula(*choice.thenValue, formula),
               no = evalFormula(*choice.elseValue, formula);
  if (condition.kind == Kind::Error || yes.kind == Kind::Error || no.kind == Kind::Error)
    return {};
  if (condition.kind != Kind::Truth)
    return wrongFormula(choice.condition->range, "this is no truth value", formula);
  bool agree = (yes.kind == Kind::Truth) == (no.kind == Kind::Truth);
  if (!agree || yes.kind == Kind::Vector || no.kind == Kind::Vector)
    return wrongFormula(choice.range, "both values of an `if` are numbers, or truth values",
                        formula);
  auto select = [&](Kind kind, mlir::Value a, mlir::Value b) -> FormulaValue {
    return {kind, 0, arith::SelectOp::create(formula.builder, formula.loc, condition.value, a, b)};
  };
  if (yes.kind == Kind::Truth)
    return select(Kind::Truth, yes.value, no.value);
  if (formula.isWhole(yes) && formula.isWhole(no))
    return select(Kind::Position, formula.position(yes), formula.position(no));
  return select(Kind::Scalar, formula.scalar(yes), formula.scalar(no));
}

//===-- functions ---------------------------------------------------------------------------===//

static double evaluate(llvm::StringRef name, double x) {
  return name == "sqrt"    ? std::sqrt(x)
         : name == "rsqrt" ? 1 / std::sqrt(x)
         : name == "exp"   ? std::exp(x)
         : name == "tanh"  ? std::tanh(x)
         : name == "floor" ? std::floor(x)
                           : std::fabs(x);
}

static mlir::Value create(llvm::StringRef name, mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value x) {
  if (name == "sqrt")
    return math::SqrtOp::create(builder, loc, x);
  if (name == "rsqrt")
    return math::RsqrtOp::create(builder, loc, x);
  if (name == "exp")
    return math::ExpOp::create(builder, loc, x);
  if (name == "tanh")
    return math::TanhOp::create(builder, loc, x);
  if (name == "floor")
    return math::FloorOp::create(builder, loc, x);
  return math::AbsFOp::create(builder, loc, x);
}

/// min(a, b), max(a, b).
static FormulaValue extremum(const Formula &formula, bool isMinimum, const FormulaValue &a,
                             const FormulaValue &b) {
  mlir::OpBuilder &builder = formula.builder;
  if (formula.isWhole(a) && formula.isWhole(b)) {
    mlir::Value x = formula.position(a), y = formula.position(b);
    if (isMinimum)
      return {Kind::Position, 0, arith::MinSIOp::create(builder, formula.loc, x, y)};
    return {Kind::Position, 0, arith::MaxSIOp::create(builder, formula.loc, x, y)};
  }
  mlir::Value x = formula.scalar(a), y = formula.scalar(b);
  if (isMinimum)
    return {Kind::Scalar, 0, arith::MinimumFOp::create(builder, formula.loc, x, y)};
  return {Kind::Scalar, 0, arith::MaximumFOp::create(builder, formula.loc, x, y)};
}

FormulaValue Sema::formulaCall(const CallExpr &call, Formula &formula) {
  auto *callee = llvm::dyn_cast<PathExpr>(call.callee.get());
  std::string name = callee ? callee->path.str() : "";
  if (callee && formula.appliesHooks)
    if (std::optional<FormulaValue> value = applyHook(*callee, &call, formula))
      return *value;
  bool isScore = formula.hook == HookDecl::Hook::Score;
  bool known = llvm::StringSwitch<bool>(name)
                   .Cases({"sqrt", "rsqrt", "exp", "tanh", "abs"}, true)
                   .Cases({"dot", "dim"}, isScore)
                   .Cases({"floor", "min", "max"}, !isScore)
                   .Default(false);
  if (!known) {
    if (isScore && (name == "unit" || name == "softmax"))
      unsupported(call.range, "`" + name + "` in a score");
    else
      error(DiagCode::ScoreExpression, call.callee->range,
            "there is no function `" + (callee ? name : source.text(call.callee->range).str()) +
                "` in a " + formula.what())
          .note(formula.consistsOf());
    return {};
  }
  std::vector<FormulaValue> arguments;
  for (const Argument &argument : call.arguments) {
    arguments.push_back(evalFormula(*argument.value, formula));
    if (arguments.back().kind == Kind::Error)
      return {};
  }
  auto wrong = [&](const llvm::Twine &usage) -> FormulaValue {
    error(DiagCode::ScoreExpression, call.range, "`" + name + "` is not applied to this")
        .help("write `" + usage + "`");
    return {};
  };
  if (name == "dot") {
    if (arguments.size() != 2 || arguments[0].kind != Kind::Vector ||
        arguments[1].kind != Kind::Vector)
      return wrong("dot(q, k)");
    return {Kind::Scalar, 0,
            DotOp::create(formula.builder, formula.loc, formula.builder.getF32Type(),
                          arguments[0].value, arguments[1].value)};
  }
  if (name == "dim") {
    if (arguments.size() != 1 || arguments[0].kind != Kind::Vector)
      return wrong("dim(q)");
    return {Kind::Number, static_cast<double>(formula.features), {}};
  }
  auto isNumber = [](const FormulaValue &value) {
    return value.kind != Kind::Vector && value.kind != Kind::Truth;
  };
  if (name == "min" || name == "max") {
    if (arguments.size() != 2 || !isNumber(arguments[0]) || !isNumber(arguments[1]))
      return wrong(name + "(i, j)");
    return extremum(formula, name == "min", arguments[0], arguments[1]);
  }
  if (arguments.size() != 1 || !isNumber(arguments[0]))
    return wrong(name + (isScore ? "(dot(q, k))" : "(i - j)"));
  const FormulaValue &x = arguments[0];
  if (x.kind == Kind::Number) {
    double value = evaluate(name, x.number);
    return std::isfinite(value) ? FormulaValue{Kind::Number, value, {}} : wrong(name + "(dim(q))");
  }
  if (x.kind == Kind::Position && name == "floor")
    return x;
  if (x.kind == Kind::Position && name == "abs")
    return {Kind::Position, 0, math::AbsIOp::create(formula.builder, formula.loc, x.value)};
  return {Kind::Scalar, 0, create(name, formula.builder, formula.loc, formula.scalar(x))};
}

//===-- expressions -------------------------------------------------------------------------===//

FormulaValue Sema::wrongFormula(SourceRange range, const llvm::Twine &message,
                                const Formula &formula) {
  error(DiagCode::ScoreExpression, range, message).note(formula.consistsOf());
  return {};
}

FormulaValue Sema::formulaName(const PathExpr &path, Formula &formula) {
  std::string name = path.path.str();
  if (auto found = formula.names.find(name); found != formula.names.end())
    return found->second;
  if (name == "inf" && !scope->find(name))
    return {Kind::Number, std::numeric_limits<double>::infinity(), {}};
  if (formula.appliesHooks)
    if (std::optional<FormulaValue> value = applyHook(path, nullptr, formula))
      return *value;
  Decl *decl = modelScope.find(name);
  if (decl && decl->kind == Decl::Kind::Dim && !decl->dynamic) {
    decl->used = true;
    const Size &size = sizeOf(*decl);
    return size.error ? FormulaValue{}
                      : FormulaValue{Kind::Number, static_cast<double>(size.offset), {}};
  }
  Diagnostic &diagnostic = error(DiagCode::ScoreExpression, path.range,
                                 "there is no `" + name + "` in a " + llvm::Twine(formula.what()));
  if (formula.hook == HookDecl::Hook::Score)
    diagnostic.note("a score is a function of the query `q` and the key `k`, in numbers and dims");
  else if (formula.names.empty())
    diagnostic.note("numbers and dims are known when compiling");
  else
    diagnostic.note("names are " + formula.listNames() + ", and dims");
  return {};
}

FormulaValue Sema::evalFormula(const Expr &expr, Formula &formula) {
  switch (expr.kind) {
  case Expr::Kind::Error:
    return {};
  case Expr::Kind::Integer:
    return {Kind::Number, static_cast<double>(llvm::cast<IntegerExpr>(expr).value), {}};
  case Expr::Kind::Float:
    return {Kind::Number, llvm::cast<FloatExpr>(expr).value, {}};
  case Expr::Kind::Call:
    return formulaCall(llvm::cast<CallExpr>(expr), formula);
  case Expr::Kind::Path:
    return formulaName(llvm::cast<PathExpr>(expr), formula);
  case Expr::Kind::Unary:
    return formulaUnary(llvm::cast<UnaryExpr>(expr), formula);
  case Expr::Kind::If:
    return formulaChoice(llvm::cast<IfExpr>(expr), formula);
  case Expr::Kind::Binary: {
    auto &binary = llvm::cast<BinaryExpr>(expr);
    if (binary.op >= BinaryOp::Add)
      return formulaArithmetic(binary, formula);
    if (binary.op >= BinaryOp::Equal)
      return formulaComparison(binary, formula);
    if (binary.op != BinaryOp::Coalesce)
      return formulaConnective(binary, formula);
    break;
  }
  default:
    break;
  }
  return wrongFormula(expr.range, llvm::Twine("this cannot stand in a ") + formula.what(), formula);
}

} // namespace attn::frontend
