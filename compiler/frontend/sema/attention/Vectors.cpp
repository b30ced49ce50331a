// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators and functions of a score's vectors and of the numbers made of them.
#include "compiler/frontend/sema/attention/Vectors.h"
#include "compiler/frontend/sema/attention/Formula.h"
#include "compiler/frontend/sema/attention/Formulas.h"
#include "compiler/frontend/sema/attention/OneSided.h"
#include "compiler/frontend/sema/expressions/Apply.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;
namespace arith = mlir::arith;
using Kind = FormulaValue::Kind;
using Side = FormulaValue::Side;

/// Whether both are computed outside: numbers and what depends on one side.
static bool isOutside(const FormulaValue &a, const FormulaValue &b) {
  bool anyHoisted = a.isHoisted() || b.isHoisted();
  for (const FormulaValue *value : {&a, &b})
    if (!value->isHoisted() && value->kind != Kind::Number)
      return false;
  if (a.isHoisted() && b.isHoisted())
    return join(a.side, b.side) != Side::Pair;
  return anyHoisted;
}

/// `dot` times or over a number or a scalar of one side: that side's vector is scaled.
static std::optional<FormulaValue> scaleDot(Formula &formula, BinaryOp op, FormulaValue dot,
                                            const FormulaValue &factor) {
  if (factor.kind == Kind::Number) {
    dot.then.push_back({op, factor.number});
    return dot;
  }
  if (factor.kind != Kind::Scalar || !factor.isHoisted())
    return std::nullopt;
  bool ofKey = factor.side == Side::Key;
  mlir::Value &scaled = ofKey ? dot.key : dot.value;
  FormulaValue vector{Kind::Vector, 0, scaled, ofKey ? Side::Key : Side::Query};
  scaled = arithmeticOutside(formula, op, vector, factor).value;
  return dot;
}

static FormulaValue vectorArithmetic(Formula &formula, const BinaryExpr &binary,
                                     const FormulaValue &left, const FormulaValue &right) {
  auto isOperand = [](const FormulaValue &value) {
    return value.kind == Kind::Vector || value.kind == Kind::Number;
  };
  bool known = binary.op == BinaryOp::Add || binary.op == BinaryOp::Subtract ||
               binary.op == BinaryOp::Multiply || binary.op == BinaryOp::Divide;
  if (!known || !isOperand(left) || !isOperand(right))
    return wrongFormula(formula, binary.range,
                        "vectors that depend on query and key are calculated with by `+ - * /`, "
                        "with vectors and numbers");
  const FormulaValue &vector = left.kind == Kind::Vector ? left : right;
  mlir::Type type = vector.value.getType();
  return {Kind::Vector,
          0,
          createArithmetic(binary.op, formula.builder, formula.loc, formula.vector(left, type),
                           formula.vector(right, type)),
          Side::Pair,
          {},
          vector.axis};
}

std::optional<FormulaValue> scoreArithmetic(Formula &formula, const BinaryExpr &binary,
                                            FormulaValue &left, FormulaValue &right) {
  BinaryOp op = binary.op;
  bool isProduct = op == BinaryOp::Multiply;
  if (left.kind == Kind::Dot && (isProduct || op == BinaryOp::Divide))
    if (auto scaled = scaleDot(formula, op, left, right))
      return scaled;
  if (right.kind == Kind::Dot && isProduct)
    if (auto scaled = scaleDot(formula, op, right, left))
      return scaled;
  if (!sameFeatures(formula.sema, left, right, binary.range))
    return FormulaValue{};
  bool isSquare = op == BinaryOp::Power && right.kind == Kind::Number && right.number == 2;
  if (isSquare && left.isHoisted())
    return arithmeticOutside(formula, BinaryOp::Multiply, left, left);
  if (op >= BinaryOp::Add && op <= BinaryOp::Divide && isOutside(left, right))
    return arithmeticOutside(formula, op, left, right);
  if (!intoRegion(formula, left, binary.left->range) ||
      !intoRegion(formula, right, binary.right->range))
    return FormulaValue{};
  if (left.kind == Kind::Vector || right.kind == Kind::Vector)
    return vectorArithmetic(formula, binary, left, right);
  return std::nullopt;
}

FormulaValue scoreFunction(Formula &formula, SourceRange range, llvm::StringRef name,
                           FormulaValue value) {
  if (value.kind == Kind::Dot && name == "negate") {
    value.then.push_back({BinaryOp::Multiply, -1});
    return value;
  }
  if (value.isHoisted())
    return mapOutside(formula, value, [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
      return createFunction(name, b, loc, x[0]);
    });
  if (!intoRegion(formula, value, range))
    return {};
  mlir::Value x = value.kind == Kind::Vector ? value.value : formula.scalar(value);
  value.value = createFunction(name, formula.builder, formula.loc, x);
  return value;
}

static std::optional<FormulaValue> scoreDot(Formula &formula, const CallExpr &call, FormulaValue a,
                                            FormulaValue b) {
  if (!sameFeatures(formula.sema, a, b, call.range))
    return FormulaValue{};
  if (isOutside(a, b))
    return sumOutside(formula, arithmeticOutside(formula, BinaryOp::Multiply, a, b));
  if (a.isHoisted() && b.isHoisted()) {
    if (a.side == Side::Key)
      std::swap(a, b);
    FormulaValue dot{Kind::Dot, 0, a.value};
    dot.key = b.value;
    return dot;
  }
  if (!intoRegion(formula, a, call.arguments[0].value->range) ||
      !intoRegion(formula, b, call.arguments[1].value->range))
    return FormulaValue{};
  return FormulaValue{Kind::Scalar, 0, dotInRegion(formula, a.value, b.value)};
}

/// The sum of a vector's elements: an inner product, of its factors where it is a product.
static FormulaValue scoreSum(Formula &formula, const FormulaValue &vector) {
  if (vector.isHoisted())
    return sumOutside(formula, vector);
  if (auto product = vector.value.getDefiningOp<arith::MulFOp>())
    return {Kind::Scalar, 0, dotInRegion(formula, product.getLhs(), product.getRhs())};
  mlir::Value ones = formula.vector({Kind::Number, 1, {}}, vector.value.getType());
  return {Kind::Scalar, 0, dotInRegion(formula, ones, vector.value)};
}

static std::optional<FormulaValue> scoreExtremum(Formula &formula, const CallExpr &call,
                                                 llvm::StringRef name,
                                                 llvm::MutableArrayRef<FormulaValue> x) {
  auto create = [&](mlir::OpBuilder &b, Location loc, mlir::Value left, mlir::Value right) {
    return name == "min" ? arith::MinimumFOp::create(b, loc, left, right).getResult()
                         : arith::MaximumFOp::create(b, loc, left, right).getResult();
  };
  if (!sameFeatures(formula.sema, x[0], x[1], call.range))
    return FormulaValue{};
  if (isOutside(x[0], x[1])) {
    llvm::SmallVector<FormulaValue> values;
    for (const FormulaValue &value : x)
      if (value.kind != Kind::Number)
        values.push_back(value);
    return mapOutside(formula, values, [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange own) {
      auto operand = [&](const FormulaValue &value, mlir::Value mapped) {
        return value.kind == Kind::Number ? constantOf(b, loc, value.number) : mapped;
      };
      return create(b, loc, operand(x[0], own.front()), operand(x[1], own.back()));
    });
  }
  for (size_t i = 0; i < 2; ++i)
    if (!intoRegion(formula, x[i], call.arguments[i].value->range))
      return FormulaValue{};
  const FormulaValue &vector = x[0].kind == Kind::Vector ? x[0] : x[1];
  for (const FormulaValue &value : x)
    if (vector.kind != Kind::Vector || (value.kind != Kind::Vector && value.kind != Kind::Number))
      return std::nullopt;
  mlir::Type type = vector.value.getType();
  FormulaValue result = vector;
  result.value =
      create(formula.builder, formula.loc, formula.vector(x[0], type), formula.vector(x[1], type));
  return result;
}

std::optional<FormulaValue> scoreCall(Formula &formula, const CallExpr &call, llvm::StringRef name,
                                      llvm::MutableArrayRef<FormulaValue> arguments) {
  size_t count = name == "dot" || name == "min" || name == "max" ? 2 : 1;
  bool takesVectors = name == "dot" || name == "dim" || name == "sum" || name == "unit";
  if (arguments.size() != count ||
      (takesVectors && llvm::any_of(arguments, [](auto &x) { return x.kind != Kind::Vector; }))) {
    if (!takesVectors)
      return std::nullopt; // said where all formulas' functions are
    formula.sema.report
        .error(DiagCode::ScoreExpression, call.range, "`" + name + "` is not applied to this")
        .help("write `" + name + (name == "dot" ? "(q, k)`" : "(q)`"));
    return FormulaValue{};
  }
  if (name == "dim")
    return FormulaValue{Kind::Number, static_cast<double>(arguments[0].axis.size), {}};
  if (takesVectors && llvm::all_of(arguments, [](auto &x) { return x.side == Side::Constant; }))
    return wrongFormula(formula, call.range,
                        "`" + name + "` takes a vector of the query, or of the key");
  if (name == "dot")
    return scoreDot(formula, call, arguments[0], arguments[1]);
  if (name == "sum")
    return scoreSum(formula, arguments[0]);
  if (name == "unit") {
    if (arguments[0].isHoisted())
      return unitOutside(formula, arguments[0]);
    return wrongFormula(formula, call.range, "`unit` takes a vector of the query, or of the key");
  }
  if (count == 2)
    return scoreExtremum(formula, call, name, arguments);
  FormulaValue &x = arguments[0];
  if (x.isHoisted() || x.kind == Kind::Dot || x.kind == Kind::Vector)
    return scoreFunction(formula, call.range, name, x);
  return std::nullopt;
}

FormulaValue scoreLinear(Formula &formula, Decl &decl, const CallExpr &call) {
  if (!plainArguments(formula.sema.report, call, decl.name, 1, 1, decl.name + "(q)"))
    return {};
  FormulaValue x = evalFormula(formula, *call.arguments[0].value);
  if (x.kind == Kind::Error || decl.wrong)
    return {};
  if (x.kind != Kind::Vector || !x.isHoisted() || x.side == Side::Constant)
    return wrongFormula(formula, call.range,
                        "`" + decl.name + "` is applied to a vector of the query, or of the key");
  if (decl.from.size() != 1 || decl.to.size() != 1) {
    formula.sema.report
        .error(DiagCode::ScoreExpression, call.range,
               "a linear map of a score takes one axis and gives one")
        .at(decl.range, "declared here")
        .help("write `linear " + decl.name + ": E -> R`");
    return {};
  }
  mlir::Value &result = formula.regions->known[{&decl, x.value.getAsOpaquePointer()}];
  if (!result)
    result = applyLinear(formula.sema, decl, call, x.value);
  if (!result)
    return {};
  return {Kind::Vector, 0, result, x.side, {}, decl.to.front()};
}

} // namespace attn::frontend
