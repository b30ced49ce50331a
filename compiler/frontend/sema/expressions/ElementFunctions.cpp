// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of elements of any kind -> attn.map: extrema, floors, magnitudes, conversions.
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/expressions/Elementwise.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Types.h"
#include "dialect/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
using mlir::Location;
namespace arith = mlir::arith;

static mlir::Value extremum(mlir::OpBuilder &b, Location loc, bool isLeast, mlir::Value x,
                            mlir::Value y) {
  if (x.getType().isF32() && isLeast)
    return arith::MinimumFOp::create(b, loc, x, y);
  if (x.getType().isF32())
    return arith::MaximumFOp::create(b, loc, x, y);
  if (isLeast)
    return arith::MinSIOp::create(b, loc, x, y);
  return arith::MaxSIOp::create(b, loc, x, y);
}

SemaValue callExtremum(Sema &sema, const CallExpr &call, llvm::StringRef name) {
  if (!plainArguments(sema.report, call, name, 2, 2, (name + "(a, b)").str()))
    return SemaValue::wrong();
  llvm::SmallVector<ElementOperand, 2> sides =
      evalSides(sema, {call.arguments[0].value.get(), call.arguments[1].value.get()});
  const SemaValue &a = sides[0].value, &b = sides[1].value;
  bool isLeast = name == "min";
  if (a.isNumber() && b.isNumber())
    return SemaValue::of(isLeast ? std::min(a.number, b.number) : std::max(a.number, b.number));
  if (a.isError() || b.isError() || isTruthReported(sema, sides))
    return SemaValue::wrong();
  mlir::Type element = arithmeticOf(sema, sides, call.range, name);
  if (!element)
    return SemaValue::wrong();
  return mapOf(sema, sides, element, element, call.range, name, name,
               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
                 return extremum(b, loc, isLeast, x[0], x[1]);
               });
}

SemaValue callClamp(Sema &sema, const CallExpr &call) {
  if (!plainArguments(sema.report, call, "clamp", 3, 3, "clamp(x, low, high)"))
    return SemaValue::wrong();
  llvm::SmallVector<ElementOperand, 2> sides =
      evalSides(sema, {call.arguments[0].value.get(), call.arguments[1].value.get(),
                       call.arguments[2].value.get()});
  const SemaValue &x = sides[0].value, &low = sides[1].value, &high = sides[2].value;
  if (x.isError() || low.isError() || high.isError() || isTruthReported(sema, sides))
    return SemaValue::wrong();
  bool areNumbers = low.isNumber() && !sides[1].size && high.isNumber() && !sides[2].size;
  if (areNumbers && low.number > high.number) {
    sema.report
        .error(DiagCode::WrongArguments,
               call.arguments[1].value->range.to(call.arguments[2].value->range),
               "`clamp` takes the lower bound first, but the first of these is the larger")
        .write(call.range, "clamp(" + sema.source.text(call.arguments[0].value->range) + ", " +
                               sema.source.text(call.arguments[2].value->range) + ", " +
                               sema.source.text(call.arguments[1].value->range) + ")");
    return SemaValue::wrong();
  }
  if (areNumbers && x.isNumber())
    return SemaValue::of(std::min(std::max(x.number, low.number), high.number));
  mlir::Type element = arithmeticOf(sema, sides, call.range, "clamp");
  if (!element)
    return SemaValue::wrong();
  return mapOf(sema, sides, element, element, call.range, "clamp", "clamp",
               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
                 return extremum(b, loc, /*isLeast=*/true,
                                 extremum(b, loc, /*isLeast=*/false, x[0], x[1]), x[2]);
               });
}

/// The whole number below a quotient: what a division cuts off is less than nothing where `x` is.
static mlir::Value floorOfQuotient(mlir::OpBuilder &b, Location loc, mlir::Value x, mlir::Value y) {
  auto bits = static_cast<int64_t>(x.getType().getIntOrFloatBitWidth());
  mlir::Value last = arith::ConstantOp::create(b, loc, b.getIntegerAttr(x.getType(), bits - 1));
  mlir::Value rest = arith::RemSIOp::create(b, loc, x, y);
  return arith::AddIOp::create(b, loc, arith::DivSIOp::create(b, loc, x, y),
                               arith::ShRSIOp::create(b, loc, rest, last));
}

SemaValue callFloor(Sema &sema, const CallExpr &call) {
  if (!plainArguments(sema.report, call, "floor", 1, 1, "floor(x)"))
    return SemaValue::wrong();
  const Expr &argument = *call.arguments[0].value;
  auto *quotient = llvm::dyn_cast<BinaryExpr>(&argument);
  SemaValue value;
  if (quotient && quotient->op == BinaryOp::Divide) {
    llvm::SmallVector<ElementOperand, 2> sides =
        evalSides(sema, {quotient->left.get(), quotient->right.get()});
    const SemaValue &a = sides[0].value, &b = sides[1].value;
    if (a.isError() || b.isError())
      return SemaValue::wrong();
    if (holdsIntegers(sides[0])) {
      if (!isDivisorOfIntegers(sema, sides[1], "`floor(a / b)`"))
        return SemaValue::wrong();
      mlir::Type element = elementOf(a.tensor);
      return mapOf(sema, sides, element, element, call.range, "/", "floor",
                   [](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
                     return floorOfQuotient(b, loc, x[0], x[1]);
                   });
    }
    if (a.isNumber() && b.isNumber()) {
      double number = a.number / b.number;
      if (std::isfinite(number))
        return SemaValue::of(std::floor(number));
      sema.report.error(DiagCode::NumberExpected, argument.range, "the result is no finite number");
      return SemaValue::wrong();
    }
    value = binaryOfTensors(sema, *quotient, sides[0], sides[1]);
  } else {
    value = eval(sema, argument);
  }
  if (value.isNumber())
    return SemaValue::of(std::floor(value.number));
  ElementOperand side{value, &argument};
  if (!value.isTensor() || isTruthReported(sema, side))
    return SemaValue::wrong();
  if (holdsIntegers(side))
    return value;
  mlir::Type element = sema.builder.getF32Type();
  return mapOf(sema, side, element, element, call.range, "floor", "floor",
               [](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
                 return mlir::math::FloorOp::create(b, loc, x[0]).getResult();
               });
}

SemaValue absoluteOf(Sema &sema, const CallExpr &call, mlir::Value value) {
  mlir::Type element = elementOf(value);
  ElementOperand side{SemaValue::of(value), call.arguments[0].value.get()};
  return mapOf(sema, side, element, element, call.range, "abs", "abs",
               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) -> mlir::Value {
                 mlir::Value zero = arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, 0));
                 return arith::MaxSIOp::create(b, loc, x[0],
                                               arith::SubIOp::create(b, loc, zero, x[0]));
               });
}

/// A number towards zero as i32; 0 of NaN, and the nearest f32 in the range of i32 of what is
/// beyond it.
static mlir::Value wholeOf(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  auto number = [&](float value) -> mlir::Value {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  };
  mlir::Value isNumber = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, x, x);
  mlir::Value value = arith::SelectOp::create(b, loc, isNumber, x, number(0));
  value = arith::MinimumFOp::create(b, loc, value, number(2147483520.0F));
  value = arith::MaximumFOp::create(b, loc, value, number(-2147483648.0F));
  return arith::FPToSIOp::create(b, loc, b.getI32Type(), value);
}

SemaValue callConversion(Sema &sema, const CallExpr &call, llvm::StringRef name) {
  if (!plainArguments(sema.report, call, name, 1, 1, (name + "(x)").str()))
    return SemaValue::wrong();
  ElementOperand side{eval(sema, *call.arguments[0].value), call.arguments[0].value.get()};
  if (!side.value.isTensor())
    return side.value;
  bool isFloat = name == "float";
  if (isFloat ? elementOf(side.value.tensor).isF32() : holdsIntegers(side))
    return side.value;
  mlir::Type from = elementOf(side.value.tensor),
             to = isFloat ? mlir::Type(sema.builder.getF32Type()) : sema.builder.getI32Type();
  return mapOf(sema, side, from, to, call.range, name, name,
               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) -> mlir::Value {
                 if (!isFloat && from.isInteger(1))
                   return arith::ExtUIOp::create(b, loc, to, x[0]);
                 if (!isFloat)
                   return wholeOf(b, loc, x[0]);
                 if (from.isInteger(1))
                   return arith::UIToFPOp::create(b, loc, to, x[0]);
                 return arith::SIToFPOp::create(b, loc, to, x[0]);
               });
}

} // namespace attn::frontend
