// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions in formulas of scores, biases and masks -> scalar ops of a region.
#include "compiler/frontend/sema/attention/Formulas.h"
#include "compiler/frontend/sema/attention/Hooks.h"
#include "compiler/frontend/sema/attention/Vectors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
namespace arith = mlir::arith;
namespace math = mlir::math;
using Kind = FormulaValue::Kind;

static double evaluate(llvm::StringRef name, double x) {
  return name == "sqrt"    ? std::sqrt(x)
         : name == "rsqrt" ? 1 / std::sqrt(x)
         : name == "exp"   ? std::exp(x)
         : name == "log"   ? std::log(x)
         : name == "sin"   ? std::sin(x)
         : name == "cos"   ? std::cos(x)
         : name == "tanh"  ? std::tanh(x)
         : name == "floor" ? std::floor(x)
                           : std::fabs(x);
}

mlir::Value createFunction(llvm::StringRef name, mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value x) {
  if (name == "sqrt")
    return math::SqrtOp::create(builder, loc, x);
  if (name == "rsqrt")
    return math::RsqrtOp::create(builder, loc, x);
  if (name == "exp")
    return math::ExpOp::create(builder, loc, x);
  if (name == "log")
    return math::LogOp::create(builder, loc, x);
  if (name == "sin")
    return math::SinOp::create(builder, loc, x);
  if (name == "cos")
    return math::CosOp::create(builder, loc, x);
  if (name == "tanh")
    return math::TanhOp::create(builder, loc, x);
  if (name == "floor")
    return math::FloorOp::create(builder, loc, x);
  if (name == "negate")
    return arith::NegFOp::create(builder, loc, x);
  return math::AbsFOp::create(builder, loc, x);
}

/// Whether a formula may apply the function `name`.
static bool isKnownFunction(llvm::StringRef name, bool isScore) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"sqrt", "rsqrt", "exp", "log", "tanh", "sin", "cos", "abs", "min", "max", "clamp"},
             true)
      .Cases({"dot", "dim", "sum", "unit"}, isScore)
      .Case("floor", !isScore)
      .Default(false);
}

static FormulaValue notApplied(const Formula &formula, const CallExpr &call, llvm::StringRef name,
                               const llvm::Twine &usage) {
  formula.sema.report
      .error(DiagCode::ScoreExpression, call.range, "`" + name + "` is not applied to this")
      .help("write `" + usage + "`");
  return {};
}

static bool isNumber(const FormulaValue &value) {
  return value.kind != Kind::Vector && value.kind != Kind::Truth;
}

/// min(a, b), max(a, b) and clamp(a, low, high), which is of both.
static FormulaValue formulaExtremum(Formula &formula, const CallExpr &call, llvm::StringRef name,
                                    llvm::ArrayRef<FormulaValue> arguments) {
  bool isClamp = name == "clamp";
  std::string usage = (name + (isClamp ? "(i, 0, n)" : "(i, j)")).str();
  if (arguments.size() != (isClamp ? 3 : 2))
    return notApplied(formula, call, name, usage);
  auto ofTwo = [&](bool isMinimum, FormulaValue a, FormulaValue b) -> FormulaValue {
    FormulaValue sides[] = {std::move(a), std::move(b)};
    if (formula.isScore())
      if (auto value = scoreCall(formula, call, isMinimum ? "min" : "max", sides))
        return *value;
    if (!isNumber(sides[0]) || !isNumber(sides[1]))
      return notApplied(formula, call, name, usage);
    return extremum(formula, isMinimum, sides[0], sides[1]);
  };
  if (!isClamp)
    return ofTwo(name == "min", arguments[0], arguments[1]);
  FormulaValue raised = ofTwo(/*isMinimum=*/false, arguments[0], arguments[1]);
  return raised.kind == Kind::Error ? raised : ofTwo(/*isMinimum=*/true, raised, arguments[2]);
}

FormulaValue formulaCall(Formula &formula, const CallExpr &call) {
  auto *callee = llvm::dyn_cast<PathExpr>(call.callee.get());
  std::string name = callee ? callee->path.str() : "";
  if (callee && formula.regions)
    if (std::optional<FormulaValue> value = applyHook(formula, *callee, &call))
      return *value;
  if (auto map = formula.maps.find(name); callee && map != formula.maps.end())
    return scoreLinear(formula, *map->second, call);
  if (!isKnownFunction(name, formula.isScore())) {
    Diagnostic &diagnostic = formula.sema.report.error(
        DiagCode::ScoreExpression, call.callee->range,
        "there is no function `" +
            (callee ? name : formula.sema.source.text(call.callee->range).str()) + "` in a " +
            formula.what());
    if (Decl *decl = formula.sema.names.scope->find(name))
      diagnostic.at(decl->range, "declared here");
    diagnostic.note(formula.consistsOf());
    return {};
  }
  std::vector<FormulaValue> arguments;
  for (const Argument &argument : call.arguments) {
    arguments.push_back(evalFormula(formula, *argument.value));
    if (arguments.back().kind == Kind::Error)
      return {};
  }
  bool isExtremum = name == "min" || name == "max" || name == "clamp";
  if (isExtremum)
    return formulaExtremum(formula, call, name, arguments);
  if (formula.isScore())
    if (std::optional<FormulaValue> value = scoreCall(formula, call, name, arguments))
      return *value;
  auto wrong = [&](const llvm::Twine &usage) { return notApplied(formula, call, name, usage); };
  if (arguments.size() != 1 || !isNumber(arguments[0]))
    return wrong(name + (formula.isScore() ? "(dot(q, k))" : "(i - j)"));
  const FormulaValue &x = arguments[0];
  if (x.kind == Kind::Number) {
    double value = evaluate(name, x.number);
    return std::isfinite(value) ? FormulaValue{Kind::Number, value, {}} : wrong(name + "(dim(q))");
  }
  if (x.kind == Kind::Position && name == "floor")
    return x;
  if (x.kind == Kind::Position && name == "abs")
    return FormulaValue::position(math::AbsIOp::create(formula.builder, formula.loc, x.value),
                                  x.range.magnitude());
  mlir::Value value = createFunction(name, formula.builder, formula.loc, formula.scalar(x));
  if (name == "floor" && x.isQuotient) {
    mlir::OpBuilder &builder = formula.builder;
    value = arith::FPToSIOp::create(builder, formula.loc, builder.getI32Type(), value);
    value = arith::IndexCastOp::create(builder, formula.loc, builder.getIndexType(), value);
    return FormulaValue::position(value, x.range);
  }
  FormulaValue result{Kind::Scalar, 0, value};
  result.isFloored = name == "floor";
  return result;
}

} // namespace attn::frontend
