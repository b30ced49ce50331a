// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas of scores, biases and masks: an expression of one query and one key -> scalar ops of a
// region.
#include "compiler/frontend/sema/attention/Formulas.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/attention/Formula.h"
#include "compiler/frontend/sema/attention/HookTensors.h"
#include "compiler/frontend/sema/attention/Hooks.h"
#include "compiler/frontend/sema/attention/OneSided.h"
#include "compiler/frontend/sema/attention/Vectors.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>

namespace attn::frontend {

using namespace ast;
namespace arith = mlir::arith;
namespace math = mlir::math;
using Kind = FormulaValue::Kind;

/// A size that is known only when running, as a whole number.
static FormulaValue formulaSize(Formula &formula, Decl &decl);

/// The value of a formula, of which nobody is told.
static FormulaValue evalFormulaKind(Formula &formula, const Expr &expr);

//===-- operators ---------------------------------------------------------------------------===//

/// a % b of integers has the sign of b, like that of positions in a grid.
static mlir::Value remainder(const Formula &formula, mlir::Value a, mlir::Value b) {
  mlir::OpBuilder &builder = formula.builder;
  mlir::Value rest = arith::RemSIOp::create(builder, formula.loc, a, b);
  mlir::Value shifted = arith::AddIOp::create(builder, formula.loc, rest, b);
  return arith::RemSIOp::create(builder, formula.loc, shifted, b);
}

/// What may be written in a hook: a finite number, or an infinite one of what was written as `inf`.
static std::optional<double> foldInHook(BinaryOp op, double a, double b) {
  std::optional<double> value = foldNumbers(op, a, b);
  bool isInfinite = std::isinf(a) || std::isinf(b); // `-inf` was written
  if (!value || std::isnan(*value) || (std::isinf(*value) && !isInfinite))
    return std::nullopt;
  return value;
}

/// `Whole` of two positions, `Real` of any numbers, or of vectors.
template <typename Whole, typename Real>
static FormulaValue arithmetic(const Formula &formula, const FormulaValue &left,
                               const FormulaValue &right, const Interval &range) {
  if (formula.isWhole(left) && formula.isWhole(right))
    return FormulaValue::position(Whole::create(formula.builder, formula.loc,
                                                formula.position(left), formula.position(right)),
                                  range);
  FormulaValue result{
      Kind::Scalar, 0,
      Real::create(formula.builder, formula.loc, formula.scalar(left), formula.scalar(right))};
  if (formula.hasNoFraction(left) && formula.hasNoFraction(right)) {
    result.isFloored = true;
    result.range = range;
  }
  return result;
}

static FormulaValue formulaPower(Formula &formula, const BinaryExpr &binary,
                                 const FormulaValue &left, const FormulaValue &right) {
  mlir::OpBuilder &builder = formula.builder;
  mlir::Location loc = formula.loc;
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
  return wrongFormula(formula, binary.range,
                      "`**` takes a positive number on its left, or 2 on its right");
}

static FormulaValue formulaArithmetic(Formula &formula, const BinaryExpr &binary) {
  FormulaValue left = evalFormula(formula, *binary.left),
               right = evalFormula(formula, *binary.right);
  if (left.kind == Kind::Error || right.kind == Kind::Error)
    return {};
  if (left.kind == Kind::Number && right.kind == Kind::Number) {
    if (auto value = foldInHook(binary.op, left.number, right.number))
      return {Kind::Number, *value, {}};
    formula.sema.report.error(DiagCode::NumberExpected, binary.range,
                              "the result is no finite number");
    return {};
  }
  if (left.kind == Kind::Truth || right.kind == Kind::Truth)
    return wrongFormula(formula, binary.range, "truth values cannot be calculated with");
  if (formula.isScore())
    if (auto value = scoreArithmetic(formula, binary, left, right))
      return *value;
  bool whole = formula.isWhole(left) && formula.isWhole(right);
  Interval a = Formula::rangeOf(left), b = Formula::rangeOf(right);
  switch (binary.op) {
  case BinaryOp::Add:
    return arithmetic<arith::AddIOp, arith::AddFOp>(formula, left, right, a + b);
  case BinaryOp::Subtract:
    return arithmetic<arith::SubIOp, arith::SubFOp>(formula, left, right, a + -b);
  case BinaryOp::Multiply:
    return arithmetic<arith::MulIOp, arith::MulFOp>(formula, left, right, a * b);
  case BinaryOp::Divide: {
    if (right.kind == Kind::Number && right.number == 0) {
      formula.sema.report.error(DiagCode::NumberExpected, binary.right->range, "this divides by 0");
      return {};
    }
    FormulaValue result{Kind::Scalar, 0,
                        arith::DivFOp::create(formula.builder, formula.loc, formula.scalar(left),
                                              formula.scalar(right))};
    result.isQuotient = whole && right.kind == Kind::Number && right.number > 0;
    if (result.isQuotient)
      result.range = a.quotient(static_cast<int64_t>(right.number));
    return result;
  }
  case BinaryOp::Remainder:
    if (whole && right.kind == Kind::Number && right.number > 0)
      return FormulaValue::position(
          remainder(formula, formula.position(left), formula.position(right)),
          a.remainder(static_cast<int64_t>(right.number)));
    return wrongFormula(formula, binary.range, "`%` takes a position and a positive whole number");
  default:
    return formulaPower(formula, binary, left, right);
  }
}

static FormulaValue formulaComparison(Formula &formula, const BinaryExpr &binary) {
  FormulaValue left = evalFormula(formula, *binary.left),
               right = evalFormula(formula, *binary.right);
  if (left.kind == Kind::Error || right.kind == Kind::Error)
    return {};
  if (!intoRegion(formula, left, binary.left->range) ||
      !intoRegion(formula, right, binary.right->range))
    return {};
  auto isNumber = [](const FormulaValue &value) {
    return value.kind == Kind::Number || value.kind == Kind::Position || value.kind == Kind::Scalar;
  };
  if (!isNumber(left) || !isNumber(right))
    return wrongFormula(formula, binary.range, "only numbers and positions can be compared");
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
static FormulaValue formulaConnective(Formula &formula, const BinaryExpr &binary) {
  FormulaValue left = evalFormula(formula, *binary.left),
               right = evalFormula(formula, *binary.right);
  if (left.kind == Kind::Error || right.kind == Kind::Error)
    return {};
  if (left.kind != Kind::Truth || right.kind != Kind::Truth)
    return wrongFormula(formula, (left.kind == Kind::Truth ? binary.right : binary.left)->range,
                        "`" + spelling(binary.op) + "` joins truth values, but this is none");
  if (binary.op == BinaryOp::And)
    return {Kind::Truth, 0,
            arith::AndIOp::create(formula.builder, formula.loc, left.value, right.value)};
  return {Kind::Truth, 0,
          arith::OrIOp::create(formula.builder, formula.loc, left.value, right.value)};
}

static FormulaValue formulaUnary(Formula &formula, const UnaryExpr &unary) {
  FormulaValue value = evalFormula(formula, *unary.operand);
  if (value.kind == Kind::Error)
    return {};
  mlir::OpBuilder &builder = formula.builder;
  mlir::Location loc = formula.loc;
  if (unary.op == UnaryOp::Not) {
    if (value.kind != Kind::Truth)
      return wrongFormula(formula, unary.range, "`not` is applied to a truth value");
    return {Kind::Truth, 0,
            arith::XOrIOp::create(builder, loc, value.value, formula.truth(true).value)};
  }
  if (value.kind == Kind::Number)
    return {Kind::Number, -value.number, {}};
  if (value.kind == Kind::Dot || value.isHoisted() || value.kind == Kind::Vector)
    return scoreFunction(formula, unary.range, "negate", value);
  if (value.kind == Kind::Scalar)
    return {Kind::Scalar, 0, arith::NegFOp::create(builder, loc, value.value)};
  if (value.kind == Kind::Position) {
    mlir::Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    return FormulaValue::position(arith::SubIOp::create(builder, loc, zero, value.value),
                                  -value.range);
  }
  return wrongFormula(formula, unary.range, "this has no negative");
}

static FormulaValue formulaChoice(Formula &formula, const IfExpr &choice) {
  auto isOfPair = [&](llvm::StringRef name) { return formula.names.count(name.str()) > 0; };
  if (isKnown(formula.sema, *choice.condition, isOfPair)) {
    std::optional<bool> known = evalCondition(formula.sema, *choice.condition);
    return known ? evalFormula(formula, *known ? *choice.thenValue : *choice.elseValue)
                 : FormulaValue();
  }
  FormulaValue condition = evalFormula(formula, *choice.condition),
               yes = evalFormula(formula, *choice.thenValue),
               no = evalFormula(formula, *choice.elseValue);
  if (condition.kind == Kind::Error || yes.kind == Kind::Error || no.kind == Kind::Error)
    return {};
  if (condition.kind != Kind::Truth)
    return wrongFormula(formula, choice.condition->range, "this is no truth value");
  if (!intoRegion(formula, yes, choice.thenValue->range) ||
      !intoRegion(formula, no, choice.elseValue->range))
    return {};
  bool agree = (yes.kind == Kind::Truth) == (no.kind == Kind::Truth);
  if (!agree || yes.kind == Kind::Vector || no.kind == Kind::Vector)
    return wrongFormula(formula, choice.range,
                        "both values of an `if` are numbers, or truth values");
  auto select = [&](Kind kind, mlir::Value a, mlir::Value b) -> FormulaValue {
    return {kind, 0, arith::SelectOp::create(formula.builder, formula.loc, condition.value, a, b)};
  };
  if (yes.kind == Kind::Truth)
    return select(Kind::Truth, yes.value, no.value);
  if (formula.isWhole(yes) && formula.isWhole(no)) {
    FormulaValue chosen = select(Kind::Position, formula.position(yes), formula.position(no));
    chosen.range = Interval::hull(Formula::rangeOf(yes), Formula::rangeOf(no));
    return chosen;
  }
  FormulaValue chosen = select(Kind::Scalar, formula.scalar(yes), formula.scalar(no));
  if (formula.hasNoFraction(yes) && formula.hasNoFraction(no)) {
    chosen.isFloored = true;
    chosen.range = Interval::hull(Formula::rangeOf(yes), Formula::rangeOf(no));
  }
  return chosen;
}

FormulaValue extremum(const Formula &formula, bool isMinimum, const FormulaValue &a,
                      const FormulaValue &b) {
  Interval x = Formula::rangeOf(a), y = Formula::rangeOf(b);
  if (isMinimum)
    return arithmetic<arith::MinSIOp, arith::MinimumFOp>(formula, a, b, Interval::minimum(x, y));
  return arithmetic<arith::MaxSIOp, arith::MaximumFOp>(formula, a, b, Interval::maximum(x, y));
}

//===-- expressions -------------------------------------------------------------------------===//

FormulaValue wrongFormula(const Formula &formula, SourceRange range, const llvm::Twine &message) {
  formula.sema.report.error(DiagCode::ScoreExpression, range, message).note(formula.consistsOf());
  return {};
}

/// Says of a small letter where numbers are needed that dims are written in capitals.
static bool sizeInCapitals(Sema &sema, Diagnostic &diagnostic, llvm::StringRef name) {
  Decl *dim = sema.names.scope->find(name.upper());
  if (!dim || dim->kind != Decl::Kind::Dim || name.upper() == name)
    return false;
  diagnostic.help("a size is the name of its dim: `" + name.upper() + "`",
                  Edit{*diagnostic.range, name.upper()});
  return true;
}

static FormulaValue formulaName(Formula &formula, const PathExpr &path) {
  std::string name = path.path.str();
  auto found = formula.names.find(name);
  // This call's row of a position: the position itself, where nothing is kept between calls. Of a
  // hook that nothing applies, no axes are known.
  const std::string first = path.path.parts[0].text;
  if (found == formula.names.end() && path.path.parts.size() == 2 &&
      (path.path.parts[1].text == "row" || (formula.regions && formula.regions->scratch)))
    found = formula.names.find(first);
  if (found != formula.names.end())
    return found->second;
  if (name == "inf" && !formula.sema.names.scope->find(name))
    return {Kind::Number, std::numeric_limits<double>::infinity(), {}};
  if ((name == "true" || name == "false") && !formula.sema.names.scope->find(name))
    return formula.truth(name == "true");
  if (formula.tensors.count(name))
    return formulaTensor(formula, path);
  if (Decl *decl = formula.sema.names.scope->find(name); decl && decl->kind == Decl::Kind::Static) {
    Formula there = formulaAt(formula, *decl);
    ScopedHome home(formula.sema, *decl);
    return evalFormula(there, *decl->expr);
  }
  if (formula.regions)
    if (std::optional<FormulaValue> value = applyHook(formula, path, nullptr))
      return *value;
  Decl *decl = formula.sema.names.scope->find(name);
  bool isDim = decl && decl->kind == Decl::Kind::Dim && !decl->dynamic;
  if (isDim && (sizeOf(formula.sema, *decl).isStatic() || sizeOf(formula.sema, *decl).error)) {
    decl->used = true;
    const Size &size = sizeOf(formula.sema, *decl);
    return size.error ? FormulaValue{}
                      : FormulaValue{Kind::Number, static_cast<double>(size.offset), {}};
  }
  if (decl && decl->kind == Decl::Kind::Dim && formula.regions && !formula.isScore())
    return formulaSize(formula, *decl);
  if (formula.isLine && tensorInScope(formula.sema, path))
    return formulaTensor(formula, path);
  Diagnostic &diagnostic =
      formula.sema.report.error(DiagCode::ScoreExpression, path.range,
                                "there is no `" + name + "` in a " + llvm::Twine(formula.what()));
  if (formula.isScore())
    diagnostic.note("a score is a function of the query `q` and the key `k`, in numbers and dims");
  else if (formula.names.empty())
    diagnostic.note("numbers and dims are known when compiling");
  else
    diagnostic.note("names are " + formula.listNames() + ", and dims");
  if (helpWithSmallLetter(diagnostic, formula, name))
    return {};
  if (formula.names.empty() && sizeInCapitals(formula.sema, diagnostic, name))
    return {};
  bool isPosition =
      formula.positions ? formula.positions->count(name) : first == "i" || first == "j";
  if (isPosition && !formula.isLine && formula.regions && !formula.names.count(first))
    diagnostic.help("add `" + first + "` to the names in the parentheses of the " + formula.what());
  return {};
}

static FormulaValue formulaSize(Formula &formula, Decl &decl) {
  decl.used = true;
  Size size = decl.dynamic ? Size{decl.name, 1, 0} : sizeOf(formula.sema, decl);
  if (size.error)
    return {};
  Axis axis = axisOfSize(decl.name, size);
  auto type = axesTensor(formula.sema.builder.getF32Type(), {axis.size},
                         {mlir::StringAttr::get(&formula.sema.mlirContext, axis.name)});
  int64_t least = size.scale + size.offset;
  return FormulaValue::position(createAxisSize(formula.builder, formula.loc, type, 0),
                                {std::min<int64_t>(least, 1), boundOf(formula.sema, axis)});
}

/// Tells an editor what a part of a formula is.
static void recordFormula(Formula &formula, const Expr &expr, const FormulaValue &value) {
  auto along = [&](llvm::StringRef what) {
    return (what + " along " + axisLabel(value.axis.name)).str();
  };
  auto words = [&]() -> std::string {
    switch (value.kind) {
    case Kind::Error:
      return "";
    case Kind::Number:
      return llvm::formatv("{0}", value.number);
    case Kind::Scalar:
      return "number";
    case Kind::Position:
      return value.axis.name.empty() ? "whole number" : along("position");
    case Kind::Truth:
      return "truth value";
    case Kind::Vector:
      return along("vector");
    case Kind::Dot:
      return "inner product";
    }
    llvm_unreachable("covered");
  };
  if (formula.sema.options.types)
    if (std::string text = words(); !text.empty())
      recordType(formula.sema, expr.range, text);
}

FormulaValue evalFormula(Formula &formula, const Expr &expr) {
  FormulaValue value = evalFormulaKind(formula, expr);
  recordFormula(formula, expr, value);
  return value;
}

static FormulaValue evalFormulaKind(Formula &formula, const Expr &expr) {
  if (!spend(formula.sema, 1, expr.range))
    return {};
  switch (expr.kind) {
  case Expr::Kind::Error:
    return {};
  case Expr::Kind::Integer:
    return {Kind::Number, static_cast<double>(llvm::cast<IntegerExpr>(expr).value), {}};
  case Expr::Kind::Float:
    return {Kind::Number, llvm::cast<FloatExpr>(expr).value, {}};
  case Expr::Kind::Call:
    return formulaCall(formula, llvm::cast<CallExpr>(expr));
  case Expr::Kind::Path:
    return formulaName(formula, llvm::cast<PathExpr>(expr));
  case Expr::Kind::Unary:
    return formulaUnary(formula, llvm::cast<UnaryExpr>(expr));
  case Expr::Kind::If:
    return formulaChoice(formula, llvm::cast<IfExpr>(expr));
  case Expr::Kind::Index:
    return formulaIndex(formula, llvm::cast<IndexExpr>(expr));
  case Expr::Kind::Binary: {
    auto &binary = llvm::cast<BinaryExpr>(expr);
    if (binary.op >= BinaryOp::Add)
      return formulaArithmetic(formula, binary);
    if (binary.op >= BinaryOp::Equal)
      return formulaComparison(formula, binary);
    if (binary.op != BinaryOp::Coalesce)
      return formulaConnective(formula, binary);
    break;
  }
  default:
    break;
  }
  return wrongFormula(formula, expr.range, llvm::Twine("this cannot stand in a ") + formula.what());
}

} // namespace attn::frontend
