// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators and functions of elements -> attn.map. Which arithmetic a map has follows from its
// operands: that of f32, of i32, of i64 where one operand has them, or of truth values.
#include "compiler/frontend/sema/Elementwise.h"
#include "compiler/frontend/sema/Apply.h"
#include "compiler/frontend/sema/Axes.h"
#include "compiler/frontend/sema/Dims.h"
#include "compiler/frontend/sema/Exprs.h"
#include "compiler/frontend/sema/Functions.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Powers.h"
#include "compiler/frontend/sema/Statics.h"
#include "compiler/frontend/sema/Tensors.h"
#include "compiler/frontend/sema/Types.h"
#include "dialect/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

static bool isWhole(const ElementOperand &side) {
  return side.value.isTensor() && elementOf(side.value.tensor).isIntOrIndex() &&
         !elementOf(side.value.tensor).isInteger(1);
}

static bool isTruth(const ElementOperand &side) {
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

/// What a side of an operator holds, in words.
static std::string holds(const ElementOperand &side) {
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
    diagnostic.at(side.expr->range, holds(side));
  if (whole)
    diagnostic.help("write `float(" + sema.source.text(whole->expr->range) +
                    ")`: the same as f32, exact up to 2^24");
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

/// What an operator calculates in, of all its sides; null where it was reported.
static mlir::Type arithmeticOf(Sema &sema, llvm::ArrayRef<ElementOperand> sides, SourceRange range,
                               llvm::StringRef op) {
  const ElementOperand *whole = nullptr, *truth = nullptr, *real = nullptr;
  bool isWide = false;
  for (const ElementOperand &side : sides) {
    if (isWhole(side)) {
      whole = whole ? whole : &side;
      isWide |= elementOf(side.value.tensor).isInteger(64);
    } else if (isTruth(side)) {
      truth = &side;
    } else if (side.value.isTensor()) {
      real = &side;
    }
  }
  mlir::OpBuilder &builder = sema.builder;
  bool isMixed =
      truth && llvm::any_of(sides, [](const ElementOperand &side) { return !isTruth(side); });
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

/// Whether truth values are calculated with, which is reported.
static bool isTruthReported(Sema &sema, llvm::ArrayRef<ElementOperand> sides) {
  auto *side = llvm::find_if(sides, isTruth);
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

/// A map of `sides`, whose elements come as `calculated`; its result holds `element`s.
static SemaValue mapOf(Sema &sema, llvm::ArrayRef<ElementOperand> sides, mlir::Type calculated,
                       mlir::Type element, SourceRange range, llvm::StringRef op,
                       llvm::StringRef words, ScalarBody body) {
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

//===------------------------------------------------------------------------------------------===//
// Operators
//===------------------------------------------------------------------------------------------===//

static bool isComparison(BinaryOp op) {
  return op == BinaryOp::Equal || op == BinaryOp::NotEqual || op == BinaryOp::Less ||
         op == BinaryOp::LessEqual || op == BinaryOp::Greater || op == BinaryOp::GreaterEqual;
}

static mlir::Value compare(mlir::OpBuilder &b, Location loc, BinaryOp op, mlir::Value x,
                           mlir::Value y) {
  using I = arith::CmpIPredicate;
  using F = arith::CmpFPredicate;
  auto [whole, real] = op == BinaryOp::Equal       ? std::pair(I::eq, F::OEQ)
                       : op == BinaryOp::NotEqual  ? std::pair(I::ne, F::UNE)
                       : op == BinaryOp::Less      ? std::pair(I::slt, F::OLT)
                       : op == BinaryOp::LessEqual ? std::pair(I::sle, F::OLE)
                       : op == BinaryOp::Greater   ? std::pair(I::sgt, F::OGT)
                                                   : std::pair(I::sge, F::OGE);
  if (x.getType().isF32())
    return arith::CmpFOp::create(b, loc, real, x, y);
  if (x.getType().isInteger(1) && op == BinaryOp::Equal) // of truth values, without a sign
    return arith::XOrIOp::create(b, loc, arith::XOrIOp::create(b, loc, x, y),
                                 arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  return arith::CmpIOp::create(b, loc, whole, x, y);
}

static mlir::Value realOp(mlir::OpBuilder &b, Location loc, BinaryOp op, mlir::Value x,
                          mlir::Value y) {
  switch (op) {
  case BinaryOp::Add:
    return arith::AddFOp::create(b, loc, x, y);
  case BinaryOp::Subtract:
    return arith::SubFOp::create(b, loc, x, y);
  case BinaryOp::Multiply:
    return arith::MulFOp::create(b, loc, x, y);
  default:
    return arith::DivFOp::create(b, loc, x, y);
  }
}

/// `y` is more than 0 where a remainder is taken.
static mlir::Value wholeOp(mlir::OpBuilder &b, Location loc, BinaryOp op, mlir::Value x,
                           mlir::Value y) {
  switch (op) {
  case BinaryOp::Add:
    return arith::AddIOp::create(b, loc, x, y);
  case BinaryOp::Subtract:
    return arith::SubIOp::create(b, loc, x, y);
  case BinaryOp::Multiply:
    return arith::MulIOp::create(b, loc, x, y);
  default: {
    mlir::Value rest = arith::RemSIOp::create(b, loc, x, y);
    return arith::RemSIOp::create(b, loc, arith::AddIOp::create(b, loc, rest, y), y);
  }
  }
}

/// Whether integers are divided by a number for which that has a meaning; says so.
static bool isDivisor(Sema &sema, const ElementOperand &side, const llvm::Twine &what) {
  bool isRight = side.value.isNumber() && !side.size && side.value.number >= 1 &&
                 side.value.number <= largestDivisor &&
                 side.value.number == std::floor(side.value.number);
  if (!isRight)
    sema.report
        .error(DiagCode::MixedElements, side.expr->range,
               what + " of integers takes a whole number from 1 to 2^30 on its right")
        .says(holds(side));
  return isRight;
}

/// `and`, `or`.
static SemaValue connective(Sema &sema, const BinaryExpr &binary,
                            llvm::ArrayRef<ElementOperand> sides, llvm::StringRef words) {
  for (const ElementOperand &side : sides) {
    if (isTruth(side))
      continue;
    sema.report
        .error(DiagCode::MixedElements, side.expr->range,
               "`" + spelling(binary.op) + "` joins truth values, but this is none")
        .says(holds(side))
        .help("write a comparison, such as `x != 0`");
    return SemaValue::wrong();
  }
  mlir::Type truth = sema.builder.getI1Type();
  return mapOf(sema, sides, truth, truth, binary.range, spelling(binary.op), words,
               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) -> mlir::Value {
                 if (binary.op == BinaryOp::And)
                   return arith::AndIOp::create(b, loc, x[0], x[1]);
                 return arith::OrIOp::create(b, loc, x[0], x[1]);
               });
}

/// Whether `op` has a meaning in an arithmetic; says so.
static bool hasOperator(Sema &sema, const BinaryExpr &binary, mlir::Type calculated,
                        const ElementOperand &left, const ElementOperand &right) {
  if (binary.op == BinaryOp::Power && (left.size || right.size)) {
    sema.report.error(DiagCode::NumberExpected, binary.range,
                      "`**` takes no size that is known only when running");
    return false;
  }
  if (calculated.isF32()) {
    if (binary.op == BinaryOp::Remainder)
      sema.report.unsupported(binary.opRange, "`%` of tensors of f32", "integers have it");
    return binary.op != BinaryOp::Remainder;
  }
  if (binary.op == BinaryOp::Remainder)
    return isDivisor(sema, right, "`%`");
  if (binary.op != BinaryOp::Divide && binary.op != BinaryOp::Power)
    return true;
  bool isPower = binary.op == BinaryOp::Power;
  std::string written = sema.source.text(binary.left->range).str();
  sema.report
      .error(DiagCode::MixedElements, binary.opRange,
             isPower ? "integers have no `**`" : "a quotient of integers may be none")
      .help(isPower ? "write a product, or `float(" + written + ")`"
                    : "write `floor(" + sema.source.text(binary.range).str() +
                          ")` for the whole number, or `float(" + written + ")`");
  return false;
}

SemaValue binaryOfTensors(Sema &sema, const BinaryExpr &binary, const ElementOperand &left,
                          const ElementOperand &right) {
  ElementOperand sides[] = {left, right};
  std::string words = sideWords(sema, *binary.left) + " " + spelling(binary.op).str() + " " +
                      sideWords(sema, *binary.right);
  if (binary.op == BinaryOp::And || binary.op == BinaryOp::Or)
    return connective(sema, binary, sides, words);
  bool isEquality = binary.op == BinaryOp::Equal || binary.op == BinaryOp::NotEqual;
  if (!isEquality && isTruthReported(sema, sides))
    return SemaValue::wrong();
  mlir::Type calculated = arithmeticOf(sema, sides, binary.range, spelling(binary.op));
  if (!calculated)
    return SemaValue::wrong();
  if (isComparison(binary.op))
    return mapOf(sema, sides, calculated, sema.builder.getI1Type(), binary.range,
                 spelling(binary.op), words,
                 [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
                   return compare(b, loc, binary.op, x[0], x[1]);
                 });
  if (!hasOperator(sema, binary, calculated, left, right))
    return SemaValue::wrong();
  if (binary.op == BinaryOp::Power)
    return powerOfTensors(sema, binary, left.value, right.value);
  return mapOf(sema, sides, calculated, calculated, binary.range, spelling(binary.op), words,
               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
                 return calculated.isF32() ? realOp(b, loc, binary.op, x[0], x[1])
                                           : wholeOp(b, loc, binary.op, x[0], x[1]);
               });
}

SemaValue unaryOfTensor(Sema &sema, const UnaryExpr &unary, mlir::Value value) {
  ElementOperand side{SemaValue::of(value), unary.operand.get()};
  std::string words = spelling(unary.op).str() + (unary.op == UnaryOp::Not ? " " : "") +
                      sideWords(sema, *unary.operand);
  mlir::Type element = elementOf(value);
  if (unary.op == UnaryOp::Not && !isTruth(side)) {
    sema.report
        .error(DiagCode::MixedElements, unary.operand->range,
               "`not` is of a truth value, but this is none")
        .says(holds(side))
        .help("write a comparison, such as `x == 0`");
    return SemaValue::wrong();
  }
  if (unary.op == UnaryOp::Negate && isTruthReported(sema, side))
    return SemaValue::wrong();
  return mapOf(sema, side, element, element, unary.range, spelling(unary.op), words,
               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) -> mlir::Value {
                 if (element.isF32())
                   return arith::NegFOp::create(b, loc, x[0]);
                 bool isNot = unary.op == UnaryOp::Not;
                 mlir::Value other =
                     arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, isNot ? -1 : 0));
                 if (isNot)
                   return arith::XOrIOp::create(b, loc, x[0], other);
                 return arith::SubIOp::create(b, loc, other, x[0]);
               });
}

//===------------------------------------------------------------------------------------------===//
// Choices
//===------------------------------------------------------------------------------------------===//

bool isTensorCondition(Sema &sema, const Expr &expr) {
  if (!spend(sema, 1, expr.range))
    return false;
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(&expr))
    return isTensorCondition(sema, *unary->operand);
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr))
    return isTensorCondition(sema, *binary->left) || isTensorCondition(sema, *binary->right);
  if (auto *choice = llvm::dyn_cast<IfExpr>(&expr))
    return isTensorCondition(sema, *choice->condition) ||
           isTensorCondition(sema, *choice->thenValue) ||
           isTensorCondition(sema, *choice->elseValue);
  if (llvm::isa<CallExpr>(expr))
    return true;
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  Decl *decl = path ? sema.names.scope->find(path->path.str()) : nullptr;
  if (decl && decl->kind == Decl::Kind::Static) {
    ScopedHome home(sema, *decl);
    return isTensorCondition(sema, *decl->expr);
  }
  return decl && ((decl->kind == Decl::Kind::Value && decl->value.isTensor()) ||
                  decl->kind == Decl::Kind::Param || decl->kind == Decl::Kind::Table);
}

SemaValue chooseElements(Sema &sema, const IfExpr &choice) {
  llvm::SmallVector<ElementOperand, 2> sides =
      evalSides(sema, {choice.thenValue.get(), choice.elseValue.get(), choice.condition.get()});
  const ElementOperand &yes = sides[0], &no = sides[1], &condition = sides[2];
  for (const ElementOperand &side : sides)
    if (!side.value.isNumber() && !side.value.isTensor())
      return SemaValue::wrong();
  if (!isTruth(condition)) {
    sema.report
        .error(DiagCode::MixedElements, choice.condition->range,
               "the condition of an `if` is a truth value, but this is none")
        .says(holds(condition))
        .help("write a comparison, such as `x != 0`");
    return SemaValue::wrong();
  }
  mlir::Type element = arithmeticOf(sema, {yes, no}, choice.range, "if");
  if (!element)
    return SemaValue::wrong();
  return mapOf(sema, sides, element, element, choice.range, "if", "if",
               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
                 return arith::SelectOp::create(b, loc, x[2], x[0], x[1]).getResult();
               });
}

//===------------------------------------------------------------------------------------------===//
// Functions
//===------------------------------------------------------------------------------------------===//

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
               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) -> mlir::Value {
                 if (element.isF32() && isLeast)
                   return arith::MinimumFOp::create(b, loc, x[0], x[1]);
                 if (element.isF32())
                   return arith::MaximumFOp::create(b, loc, x[0], x[1]);
                 if (isLeast)
                   return arith::MinSIOp::create(b, loc, x[0], x[1]);
                 return arith::MaxSIOp::create(b, loc, x[0], x[1]);
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
    if (isWhole(sides[0])) {
      if (!isDivisor(sema, sides[1], "`floor(a / b)`"))
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
  if (isWhole(side))
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

SemaValue callConversion(Sema &sema, const CallExpr &call, llvm::StringRef name) {
  if (!plainArguments(sema.report, call, name, 1, 1, (name + "(x)").str()))
    return SemaValue::wrong();
  ElementOperand side{eval(sema, *call.arguments[0].value), call.arguments[0].value.get()};
  if (!side.value.isTensor())
    return side.value;
  bool isFloat = name == "float";
  if (isFloat ? elementOf(side.value.tensor).isF32() : isWhole(side))
    return side.value;
  if (!isFloat && !isTruth(side)) {
    sema.report
        .error(DiagCode::MixedElements, call.arguments[0].value->range,
               "`int` is of truth values, but this is none")
        .says(holds(side));
    return SemaValue::wrong();
  }
  mlir::Type from = elementOf(side.value.tensor),
             to = isFloat ? mlir::Type(sema.builder.getF32Type()) : sema.builder.getI32Type();
  return mapOf(sema, side, from, to, call.range, name, name,
               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) -> mlir::Value {
                 if (!isFloat)
                   return arith::ExtUIOp::create(b, loc, to, x[0]);
                 if (from.isInteger(1))
                   return arith::UIToFPOp::create(b, loc, to, x[0]);
                 return arith::SIToFPOp::create(b, loc, to, x[0]);
               });
}

} // namespace attn::frontend
