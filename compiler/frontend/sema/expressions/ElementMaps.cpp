// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of one operator -> an attn.map. Which arithmetic it has follows from them: that of f32,
// of i32, of i64 where one operand has them, or of truth values.
#include "compiler/frontend/sema/expressions/ElementMaps.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Types.h"
#include "dialect/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
using mlir::Location;
namespace arith = mlir::arith;

/// The divisors of integers are small enough for what is computed on the way not to wrap.
static constexpr double largestDivisor = 1 << 30;

//===------------------------------------------------------------------------------------------===//
// Which arithmetic
//===------------------------------------------------------------------------------------------===//

bool holdsIntegers(const ElementOperand &side) {
  return side.value.isTensor() && elementOf(side.value.tensor).isIntOrIndex() &&
         !elementOf(side.value.tensor).isInteger(1);
}

bool holdsTruth(const ElementOperand &side) {
  return side.value.isTensor() && elementOf(side.value.tensor).isInteger(1);
}

/// Whether an expression is a size that is known only when running; reports nothing.
static bool isDynamicSize(Sema &sema, const Expr &expr) {
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr)) {
    auto isSize = [&](const Expr &side) {
      return llvm::isa<IntegerExpr>(side) || isDynamicSize(sema, side);
    };
    bool isSum = binary->op == BinaryOp::Add || binary->op == BinaryOp::Subtract ||
                 binary->op == BinaryOp::Multiply;
    return isSum && isSize(*binary->left) && isSize(*binary->right) &&
           (isDynamicSize(sema, *binary->left) || isDynamicSize(sema, *binary->right));
  }
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  Decl *decl = path ? sema.names.scope->find(path->path.str()) : nullptr;
  if (!decl || decl->kind != Decl::Kind::Dim)
    return false;
  return decl->dynamic || !sizeOf(sema, *decl).isStatic();
}

/// A size as a value of the function that is built; null where it was reported.
static mlir::Value runningSize(Sema &sema, const Expr &expr) {
  Size size = evalSize(sema, expr);
  if (size.error)
    return nullptr;
  mlir::OpBuilder &b = sema.builder;
  Location loc = locate(sema, expr.range);
  auto number = [&](int64_t n) { return arith::ConstantIndexOp::create(b, loc, n); };
  mlir::Value value = SizeOp::create(b, loc, b.getIndexType(),
                                     mlir::FlatSymbolRefAttr::get(&sema.mlirContext, size.dim));
  if (size.scale != 1)
    value = arith::MulIOp::create(b, loc, value, number(size.scale));
  if (size.offset != 0)
    value = arith::AddIOp::create(b, loc, value, number(size.offset));
  return value;
}

llvm::SmallVector<ElementOperand, 2> evalSides(Sema &sema, llvm::ArrayRef<const Expr *> exprs) {
  llvm::SmallVector<ElementOperand, 2> sides;
  bool anyTensor = false;
  for (const Expr *expr : exprs) {
    bool isSize = isDynamicSize(sema, *expr);
    sides.push_back({isSize ? SemaValue::of(0.0) : eval(sema, *expr), expr});
    anyTensor |= sides.back().value.isTensor();
  }
  for (ElementOperand &side : sides) {
    if (!isDynamicSize(sema, *side.expr))
      continue;
    side.size = anyTensor ? runningSize(sema, *side.expr) : mlir::Value();
    if (!side.size)
      side.value = anyTensor ? SemaValue::wrong() : eval(sema, *side.expr);
  }
  return sides;
}

std::string describeOperand(const ElementOperand &side) {
  if (!side.value.isTensor())
    return "this is a number";
  return "this is " + showTensor(side.value.tensor);
}

/// Reports sides that do not mix.
static mlir::Type reportMixed(Sema &sema, llvm::ArrayRef<ElementOperand> sides, SourceRange range,
                              llvm::StringRef op, const ElementOperand *whole) {
  Diagnostic &diagnostic =
      sema.report.error(DiagCode::MixedElements, range,
                        whole ? "`" + op + "` mixes integers and numbers of f32"
                              : "`" + op + "` mixes truth values and what is none");
  for (const ElementOperand &side : sides)
    diagnostic.at(side.expr->range, describeOperand(side));
  std::string asFloat = whole ? ("float(" + sema.source.text(whole->expr->range) + ")").str() : "";
  if (whole)
    diagnostic.help("write `" + asFloat + "`: the same as f32, exact up to 2^24",
                    Edit{whole->expr->range, asFloat});
  else
    diagnostic.help(
        "write a comparison, such as `x != 0`, or `float(x)`, which is 1 where x holds");
  return {};
}

/// Whether a number can stand beside integers of `element`; says so.
static bool isWholeNumber(Sema &sema, const ElementOperand &side, mlir::Type element) {
  double number = side.value.number,
         limit = std::ldexp(1.0, static_cast<int>(element.getIntOrFloatBitWidth()) - 1);
  if (number == std::floor(number) && number >= -limit && number < limit)
    return true;
  sema.report
      .error(DiagCode::MixedElements, side.expr->range,
             number == std::floor(number)
                 ? "this number does not fit into 32 bits, as the integers beside it do"
                 : "this number has a fraction, and the other side holds integers")
      .help("write `float(x)` for the integers as f32");
  return false;
}

mlir::Type arithmeticOf(Sema &sema, llvm::ArrayRef<ElementOperand> sides, SourceRange range,
                        llvm::StringRef op) {
  const ElementOperand *whole = nullptr, *truth = nullptr, *real = nullptr;
  bool isWide = false;
  for (const ElementOperand &side : sides) {
    if (holdsIntegers(side)) {
      whole = whole ? whole : &side;
      isWide |= elementOf(side.value.tensor).isInteger(64);
    } else if (holdsTruth(side)) {
      truth = &side;
    } else if (side.value.isTensor()) {
      real = &side;
    }
  }
  mlir::OpBuilder &builder = sema.builder;
  bool isMixed =
      truth && llvm::any_of(sides, [](const ElementOperand &side) { return !holdsTruth(side); });
  if ((whole && real) || isMixed)
    return reportMixed(sema, sides, range, op, isMixed ? nullptr : whole);
  if (truth)
    return builder.getI1Type();
  if (!whole)
    return builder.getF32Type();
  mlir::Type element = isWide ? builder.getI64Type() : builder.getI32Type();
  for (const ElementOperand &side : sides)
    if (side.value.isNumber() && !side.size && !isWholeNumber(sema, side, element))
      return {};
  return element;
}

bool isTruthReported(Sema &sema, llvm::ArrayRef<ElementOperand> sides) {
  auto *side = llvm::find_if(sides, holdsTruth);
  if (side == sides.end())
    return false;
  isCalculable(sema.report, side->value.tensor, side->expr->range);
  return true;
}

//===------------------------------------------------------------------------------------------===//
// Maps
//===------------------------------------------------------------------------------------------===//

/// The axes of the side with most of them, the first of such; nothing and reported where it lacks
/// one of another side.
static std::optional<Axes> axesOfAll(Sema &sema, llvm::ArrayRef<ElementOperand> sides,
                                     SourceRange range, llvm::StringRef op) {
  const ElementOperand *most = nullptr;
  for (const ElementOperand &side : sides)
    if (side.value.isTensor() &&
        (!most || axesOfValue(side.value.tensor).size() > axesOfValue(most->value.tensor).size()))
      most = &side;
  Axes more = axesOfValue(most->value.tensor);
  for (const ElementOperand &side : sides) {
    if (!side.value.isTensor())
      continue;
    Axes fewer = axesOfValue(side.value.tensor);
    for (const Axis &axis : fewer) {
      int at = findAxis(more, axis.name);
      if (at >= 0 && more[at] == axis)
        continue;
      Diagnostic &diagnostic = sema.report.error(DiagCode::ElementwiseMismatch, range,
                                                 "the sides of `" + op + "` have different axes");
      const ElementOperand &first = &side < most ? side : *most,
                           &second = &side < most ? *most : side;
      Axes a = axesOfValue(first.value.tensor), b = axesOfValue(second.value.tensor);
      diagnostic.at(first.expr->range, "this is " + showAxes(a))
          .at(second.expr->range, "this is " + showAxes(b))
          .note("axes are matched by name, and one side has all the axes of the other");
      noteSameNames(diagnostic, a, b);
      if (std::string where = whereSizes(sema, more) +
                              (whereSizes(sema, {axis}).empty() ? "" : ", ") +
                              whereSizes(sema, {axis});
          !where.empty())
        diagnostic.note(where);
      return std::nullopt;
    }
  }
  return more;
}

/// A number or an element as one of what is calculated in; a truth value stays one.
static mlir::Value asElement(mlir::OpBuilder &b, Location loc, const ElementOperand &side,
                             mlir::Value x, mlir::Type calculated) {
  if (side.size && calculated.isF32())
    return arith::SIToFPOp::create(b, loc, calculated,
                                   arith::IndexCastOp::create(b, loc, b.getI64Type(), side.size));
  if (side.size)
    return arith::IndexCastOp::create(b, loc, calculated, side.size);
  if (side.value.isNumber())
    return calculated.isF32()
               ? constantOf(b, loc, side.value.number)
               : arith::ConstantOp::create(
                     b, loc, b.getIntegerAttr(calculated, static_cast<int64_t>(side.value.number)));
  bool isNarrow = calculated.isInteger(64) && x.getType().isInteger(32);
  return isNarrow ? arith::ExtSIOp::create(b, loc, calculated, x).getResult() : x;
}

SemaValue mapOf(Sema &sema, llvm::ArrayRef<ElementOperand> sides, mlir::Type calculated,
                mlir::Type element, SourceRange range, llvm::StringRef op, llvm::StringRef words,
                ScalarBody body) {
  std::optional<Axes> axes = axesOfAll(sema, sides, range, op);
  if (!axes)
    return SemaValue::wrong();
  llvm::SmallVector<mlir::Value> inputs;
  for (const ElementOperand &side : sides)
    if (side.value.isTensor())
      inputs.push_back(side.value.tensor);
  auto whole = [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange arguments) {
    loc = inWords(loc, words);
    llvm::SmallVector<mlir::Value> elements;
    size_t next = 0;
    for (const ElementOperand &side : sides)
      elements.push_back(asElement(
          b, loc, side, side.value.isTensor() ? arguments[next++] : mlir::Value(), calculated));
    return body(b, loc, elements);
  };
  return SemaValue::of(makeMap(sema, inputs, *axes, locate(sema, range), whole, element));
}

bool isDivisorOfIntegers(Sema &sema, const ElementOperand &side, const llvm::Twine &what) {
  bool isRight = side.value.isNumber() && !side.size && side.value.number >= 1 &&
                 side.value.number <= largestDivisor &&
                 side.value.number == std::floor(side.value.number);
  if (!isRight)
    sema.report
        .error(DiagCode::MixedElements, side.expr->range,
               what + " of integers takes a whole number from 1 to 2^30 on its right")
        .says(describeOperand(side));
  return isRight;
}

} // namespace attn::frontend
