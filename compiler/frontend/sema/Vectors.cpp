// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators and functions of a score's vectors and of the numbers made of them.
#include "compiler/frontend/sema/Formulas.h"

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
std::optional<FormulaValue> Sema::scaleDot(BinaryOp op, FormulaValue dot,
                                           const FormulaValue &factor, Formula &formula) {
  if (factor.kind == Kind::Number) {
    dot.then.push_back({op, factor.number});
    return dot;
  }
  if (factor.kind != Kind::Scalar || !factor.isHoisted())
    return std::nullopt;
  bool ofKey = factor.side == Side::Key;
  mlir::Value &scaled = ofKey ? dot.key : dot.value;
  FormulaValue vector{Kind::Vector, 0, scaled, ofKey ? Side::Key : Side::Query};
  scaled = arithmeticOutside(op, vector, factor, formula).value;
  return dot;
}

FormulaValue Sema::vectorArithmetic(const BinaryExpr &binary, const FormulaValue &left,
                                    const FormulaValue &right, Formula &formula) {
  auto isOperand = [](const FormulaValue &value) {
    return value.kind == Kind::Vector || value.kind == Kind::Number;
  };
  bool known = binary.op == BinaryOp::Add || binary.op == BinaryOp::Subtract ||
               binary.op == BinaryOp::Multiply || binary.op == BinaryOp::Divide;
  if (!known || !isOperand(left) || !isOperand(right))
    return wrongFormula(binary.range,
                        "vectors that depend on query and key are calculated with by `+ - * /`, "
                        "with vectors and numbers",
                        formula);
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

std::optional<FormulaValue> Sema::scoreArithmetic(const BinaryExpr &binary, FormulaValue &left,
                                                  FormulaValue &right, Formula &formula) {
  BinaryOp op = binary.op;
  bool isProduct = op == BinaryOp::Multiply;
  if (left.kind == Kind::Dot && (isProduct || op == BinaryOp::Divide))
    if (auto scaled = scaleDot(op, left, right, formula))
      return scaled;
  if (right.kind == Kind::Dot && isProduct)
    if (auto scaled = scaleDot(op, right, left, formula))
      return scaled;
  if (!sameFeatures(left, right, binary.range))
    return FormulaValue{};
  bool isSquare = op == BinaryOp::Power && right.kind == Kind::Number && right.number == 2;
  if (isSquare && left.isHoisted())
    return arithmeticOutside(BinaryOp::Multiply, left, left, formula);
  if (op >= BinaryOp::Add && op <= BinaryOp::Divide && isOutside(left, right))
    return arithmeticOutside(op, left, right, formula);
  if (!intoRegion(left, formula, binary.left->range) ||
      !intoRegion(right, formula, binary.right->range))
    return FormulaValue{};
  if (left.kind == Kind::Vector || right.kind == Kind::Vector)
    return vectorArithmetic(binary, left, right, formula);
  return std::nullopt;
}

FormulaValue Sema::scoreFunction(SourceRange range, llvm::StringRef name, FormulaValue value,
                                 Formula &formula) {
  if (value.kind == Kind::Dot && name == "negate") {
    value.then.push_back({BinaryOp::Multiply, -1});
    return value;
  }
  if (value.isHoisted())
    return mapOutside(value, formula, [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
      return createFunction(name, b, loc, x[0]);
    });
  if (!intoRegion(value, formula, range))
    return {};
  mlir::Value x = value.kind == Kind::Vector ? value.value : formula.scalar(value);
  value.value = createFunction(name, formula.builder, formula.loc, x);
  return value;
}

std::optional<FormulaValue> Sema::scoreDot(const CallExpr &call, FormulaValue a, FormulaValue b,
                                           Formula &formula) {
  if (!sameFeatures(a, b, call.range))
    return FormulaValue{};
  if (isOutside(a, b))
    return sumOutside(arithmeticOutside(BinaryOp::Multiply, a, b, formula), formula);
  if (a.isHoisted() && b.isHoisted()) {
    if (a.side == Side::Key)
      std::swap(a, b);
    FormulaValue dot{Kind::Dot, 0, a.value};
    dot.key = b.value;
    return dot;
  }
  if (!intoRegion(a, formula, call.arguments[0].value->range) ||
      !intoRegion(b, formula, call.arguments[1].value->range))
    return FormulaValue{};
  return FormulaValue{Kind::Scalar, 0, dotInRegion(a.value, b.value, formula)};
}

/// The sum of a vector's elements: an inner product, of its factors where it is a product.
FormulaValue Sema::scoreSum(const FormulaValue &vector, Formula &formula) {
  if (vector.isHoisted())
    return sumOutside(vector, formula);
  if (auto product = vector.value.getDefiningOp<arith::MulFOp>())
    return {Kind::Scalar, 0, dotInRegion(product.getLhs(), product.getRhs(), formula)};
  mlir::Value ones = formula.vector({Kind::Number, 1, {}}, vector.value.getType());
  return {Kind::Scalar, 0, dotInRegion(ones, vector.value, formula)};
}

std::optional<FormulaValue> Sema::scoreExtremum(const CallExpr &call, llvm::StringRef name,
                                                llvm::MutableArrayRef<FormulaValue> x,
                                                Formula &formula) {
  auto create = [&](mlir::OpBuilder &b, Location loc, mlir::Value left, mlir::Value right) {
    return name == "min" ? arith::MinimumFOp::create(b, loc, left, right).getResult()
                         : arith::MaximumFOp::create(b, loc, left, right).getResult();
  };
  if (!sameFeatures(x[0], x[1], call.range))
    return FormulaValue{};
  if (isOutside(x[0], x[1])) {
    llvm::SmallVector<FormulaValue> values;
    for (const FormulaValue &value : x)
      if (value.kind != Kind::Number)
        values.push_back(value);
    return mapOutside(values, formula, [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange own) {
      auto operand = [&](const FormulaValue &value, mlir::Value mapped) {
        return value.kind == Kind::Number ? constantOf(b, loc, value.number) : mapped;
      };
      return create(b, loc, operand(x[0], own.front()), operand(x[1], own.back()));
    });
  }
  for (size_t i = 0; i < 2; ++i)
    if (!intoRegion(x[i], formula, call.arguments[i].value->range))
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

std::optional<FormulaValue> Sema::scoreCall(const CallExpr &call, llvm::StringRef name,
                                            llvm::MutableArrayRef<FormulaValue> arguments,
                                            Formula &formula) {
  size_t count = name == "dot" || name == "min" || name == "max" ? 2 : 1;
  bool takesVectors = name == "dot" || name == "dim" || name == "sum" || name == "unit";
  if (arguments.size() != count ||
      (takesVectors && llvm::any_of(arguments, [](auto &x) { return x.kind != Kind::Vector; }))) {
    if (!takesVectors)
      return std::nullopt; // said where all formulas' functions are
    error(DiagCode::ScoreExpression, call.range, "`" + name + "` is not applied to this")
        .help("write `" + name + (name == "dot" ? "(q, k)`" : "(q)`"));
    return FormulaValue{};
  }
  if (name == "dim")
    return FormulaValue{Kind::Number, static_cast<double>(arguments[0].axis.size), {}};
  if (takesVectors && llvm::all_of(arguments, [](auto &x) { return x.side == Side::Constant; }))
    return wrongFormula(call.range, "`" + name + "` takes a vector of the query, or of the key",
                        formula);
  if (name == "dot")
    return scoreDot(call, arguments[0], arguments[1], formula);
  if (name == "sum")
    return scoreSum(arguments[0], formula);
  if (name == "unit") {
    if (arguments[0].isHoisted())
      return unitOutside(arguments[0], formula);
    return wrongFormula(call.range, "`unit` takes a vector of the query, or of the key", formula);
  }
  if (count == 2)
    return scoreExtremum(call, name, arguments, formula);
  FormulaValue &x = arguments[0];
  if (x.isHoisted() || x.kind == Kind::Dot || x.kind == Kind::Vector)
    return scoreFunction(call.range, name, x, formula);
  return std::nullopt;
}

FormulaValue Sema::scoreLinear(Decl &decl, const CallExpr &call, Formula &formula) {
  if (!plainArguments(call, decl.name, 1, 1, decl.name + "(q)"))
    return {};
  FormulaValue x = evalFormula(*call.arguments[0].value, formula);
  if (x.kind == Kind::Error || decl.wrong)
    return {};
  if (x.kind != Kind::Vector || !x.isHoisted() || x.side == Side::Constant)
    return wrongFormula(call.range,
                        "`" + decl.name + "` is applied to a vector of the query, or of the key",
                        formula);
  if (decl.from.size() != 1 || decl.to.size() != 1) {
    unsupported(call.range, "a linear map of several axes in a score");
    return {};
  }
  mlir::Value &result = formula.regions->known[{&decl, x.value.getAsOpaquePointer()}];
  if (!result)
    result = applyLinear(decl, call, x.value);
  if (!result)
    return {};
  return {Kind::Vector, 0, result, x.side, {}, decl.to.front()};
}

} // namespace attn::frontend
