// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a score that depend on the query alone, or on the key alone: they are computed for all
// of them by ops on tensors, and handed to the region.
#include "compiler/frontend/sema/attention/OneSided.h"
#include "compiler/frontend/sema/attention/Formula.h"
#include "compiler/frontend/sema/functions/Reduce.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;
namespace arith = mlir::arith;
using Kind = FormulaValue::Kind;
using Side = FormulaValue::Side;

FormulaValue::Side join(Side a, Side b) {
  return a == Side::Constant ? b : b == Side::Constant || a == b ? a : Side::Pair;
}

mlir::Value createArithmetic(BinaryOp op, mlir::OpBuilder &builder, Location loc, mlir::Value a,
                             mlir::Value b) {
  switch (op) {
  case BinaryOp::Add:
    return arith::AddFOp::create(builder, loc, a, b);
  case BinaryOp::Subtract:
    return arith::SubFOp::create(builder, loc, a, b);
  case BinaryOp::Multiply:
    return arith::MulFOp::create(builder, loc, a, b);
  default:
    return arith::DivFOp::create(builder, loc, a, b);
  }
}

/// Where what is computed for one side alone stands: under the name of the score and the side.
static Location sideOf(Location loc, Side side) {
  auto name = llvm::dyn_cast<mlir::NameLoc>(loc);
  if (!name || (side != Side::Query && side != Side::Key))
    return loc;
  llvm::StringRef suffix = side == Side::Query ? ".query" : ".key";
  return mlir::NameLoc::get(mlir::StringAttr::get(loc.getContext(), name.getName().str() + suffix),
                            name.getChildLoc());
}

FormulaValue mapOutside(Formula &formula, llvm::ArrayRef<FormulaValue> values, ScalarBody body) {
  Side side = Side::Constant;
  Axis feature{"", 0};
  llvm::SmallVector<mlir::Value> inputs;
  Axes leading;
  for (const FormulaValue &value : values) {
    side = join(side, value.side);
    inputs.push_back(value.value);
    Axes axes = axesOfValue(value.value);
    if (value.kind == Kind::Vector)
      feature = axes.pop_back_val();
    llvm::append_range(leading, axes);
  }
  // In the order of the query's axes, or the key's.
  Axes axes;
  for (const Axis &axis : side == Side::Key ? formula.regions->keyAxes : formula.regions->queryAxes)
    if (findAxis(leading, axis.name) >= 0)
      axes.push_back(axis);
  if (feature.size)
    axes.push_back(feature);
  mlir::Value result = makeMap(formula.sema, inputs, axes, sideOf(formula.loc, side), body);
  return {feature.size ? Kind::Vector : Kind::Scalar, 0, result, side, {}, feature};
}

FormulaValue arithmeticOutside(Formula &formula, BinaryOp op, const FormulaValue &left,
                               const FormulaValue &right) {
  llvm::SmallVector<FormulaValue> values;
  for (const FormulaValue *value : {&left, &right})
    if (value->kind != Kind::Number)
      values.push_back(*value);
  return mapOutside(formula, values, [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
    auto operand = [&](const FormulaValue &value, mlir::Value own) {
      return value.kind == Kind::Number ? constantOf(b, loc, value.number) : own;
    };
    return createArithmetic(op, b, loc, operand(left, x.front()), operand(right, x.back()));
  });
}

FormulaValue sumOutside(Formula &formula, const FormulaValue &vector) {
  Axes axes = axesOfValue(vector.value);
  Axis feature = axes.pop_back_val();
  mlir::Value sum = createReduce(formula.sema, Reduction::Sum, vector.value, {feature},
                                 sideOf(formula.loc, vector.side));
  return {Kind::Scalar, 0, sum, vector.side};
}

FormulaValue unitOutside(Formula &formula, const FormulaValue &vector) {
  FormulaValue square = arithmeticOutside(formula, BinaryOp::Multiply, vector, vector);
  FormulaValue factor =
      mapOutside(formula, sumOutside(formula, square),
                 [](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) -> mlir::Value {
                   mlir::Value zero = constantOf(b, loc, 0);
                   mlir::Value isZero =
                       arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x[0], zero);
                   return arith::SelectOp::create(b, loc, isZero, zero,
                                                  mlir::math::RsqrtOp::create(b, loc, x[0]));
                 });
  return arithmeticOutside(formula, BinaryOp::Multiply, vector, factor);
}

//===-- into the region ---------------------------------------------------------------------===//

mlir::Value dotInRegion(Formula &formula, mlir::Value a, mlir::Value b) {
  const void *x = a.getAsOpaquePointer(), *y = b.getAsOpaquePointer();
  mlir::Value &known = formula.regions->known[std::minmax(x, y)];
  if (!known)
    known = DotOp::create(formula.builder, formula.loc, formula.builder.getF32Type(), a, b);
  return known;
}

static mlir::Value readOutside(Formula &formula, mlir::Value tensor, bool isVector) {
  mlir::Block *block = formula.builder.getInsertionBlock();
  Axes axes = axesOfValue(tensor);
  mlir::Type type = formula.builder.getF32Type();
  if (isVector)
    type = mlir::RankedTensorType::get({axes.pop_back_val().size}, type);
  llvm::SmallVector<mlir::Value> positions;
  for (const Axis &axis : axes)
    positions.push_back(formula.regions->positionAlong(block, axis.name));
  return ElementOp::create(formula.builder, formula.loc, type,
                           formula.regions->capture(block, tensor), positions);
}

bool intoRegion(Formula &formula, FormulaValue &value, SourceRange range) {
  auto vectorOf = [&](Side side, mlir::Value tensor) {
    mlir::Value vector = formula.regions->vectorOf(side, tensor);
    if (!vector)
      formula.sema.report
          .error(DiagCode::ScoreExpression, range,
                 llvm::Twine("this takes a second vector of the ") +
                     (side == Side::Query ? "query" : "key") + " beside the first")
          .note("what needs query and key at once takes one vector of each: `q`, a linear map of "
                "it, or what is calculated from them");
    return vector;
  };
  if (value.kind == Kind::Dot) {
    mlir::Value query = vectorOf(Side::Query, value.value),
                key = query ? vectorOf(Side::Key, value.key) : mlir::Value();
    if (!key)
      return false;
    mlir::Value result = dotInRegion(formula, query, key);
    for (auto [op, number] : value.then)
      result = createArithmetic(op, formula.builder, formula.loc, result,
                                constantOf(formula.builder, formula.loc, number));
    value = {Kind::Scalar, 0, result};
    return true;
  }
  if (!value.isHoisted())
    return true;
  bool isVector = value.kind == Kind::Vector;
  if (isVector && value.side != Side::Constant)
    value.value = vectorOf(value.side, value.value);
  else
    value.value = readOutside(formula, value.value, isVector);
  value.side = Side::Pair;
  return static_cast<bool>(value.value);
}

bool sameFeatures(Sema &sema, const FormulaValue &a, const FormulaValue &b, SourceRange range) {
  if (a.kind != Kind::Vector || b.kind != Kind::Vector || a.axis == b.axis)
    return true;
  Diagnostic &diagnostic =
      sema.report.error(DiagCode::FeatureAxis, range,
                        "vectors along different axes, `" + axisLabel(a.axis.name) + "` and `" +
                            axisLabel(b.axis.name) + "`");
  if (std::string where = whereSizes(sema, {a.axis, b.axis}); !where.empty())
    diagnostic.note(where);
  return false;
}

} // namespace attn::frontend
