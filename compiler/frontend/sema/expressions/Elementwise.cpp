// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators and choices of elements -> attn.map.
#include "compiler/frontend/sema/expressions/Elementwise.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/expressions/Powers.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Types.h"
#include "dialect/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;
namespace arith = mlir::arith;

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

/// x - y * floor(x / y), with the sign of `y`, and smaller than it. Where the quotient was rounded
/// up to a whole number, the remainder is negative before it is mended.
static mlir::Value remainderOf(mlir::OpBuilder &b, Location loc, mlir::Value x, mlir::Value y) {
  mlir::Value whole =
      mlir::math::FloorOp::create(b, loc, arith::DivFOp::create(b, loc, x, y).getResult());
  mlir::Value rest = mlir::math::FmaOp::create(b, loc, arith::NegFOp::create(b, loc, whole), y, x);
  mlir::Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  mlir::Value isOther = arith::CmpFOp::create(
      b, loc, arith::CmpFPredicate::OLT, arith::MulFOp::create(b, loc, rest, y).getResult(), zero);
  return arith::SelectOp::create(b, loc, isOther,
                                 arith::AddFOp::create(b, loc, rest, y).getResult(), rest);
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
  case BinaryOp::Remainder:
    return remainderOf(b, loc, x, y);
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

/// `and`, `or`.
static SemaValue connective(Sema &sema, const BinaryExpr &binary,
                            llvm::ArrayRef<ElementOperand> sides, llvm::StringRef words) {
  for (const ElementOperand &side : sides) {
    if (holdsTruth(side))
      continue;
    sema.report
        .error(DiagCode::MixedElements, side.expr->range,
               "`" + spelling(binary.op) + "` joins truth values, but this is none")
        .says(describeOperand(side))
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
  if (calculated.isF32())
    return true;
  if (binary.op == BinaryOp::Remainder)
    return isDivisorOfIntegers(sema, right, "`%`");
  if (binary.op != BinaryOp::Divide && binary.op != BinaryOp::Power)
    return true;
  bool isPower = binary.op == BinaryOp::Power;
  std::string asFloat = ("float(" + sema.source.text(binary.left->range) + ")").str(),
              floored = ("floor(" + sema.source.text(binary.range) + ")").str();
  sema.report
      .error(DiagCode::MixedElements, binary.opRange,
             isPower ? "integers have no `**`" : "a quotient of integers may be none")
      .help(isPower ? "write a product, or `" + asFloat + "`"
                    : "write `" + floored + "` for the whole number, or `" + asFloat + "`",
            isPower ? Edit{binary.left->range, asFloat} : Edit{binary.range, floored});
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
  if (unary.op == UnaryOp::Not && !holdsTruth(side)) {
    sema.report
        .error(DiagCode::MixedElements, unary.operand->range,
               "`not` is of a truth value, but this is none")
        .says(describeOperand(side))
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
  if (!holdsTruth(condition)) {
    sema.report
        .error(DiagCode::MixedElements, choice.condition->range,
               "the condition of an `if` is a truth value, but this is none")
        .says(describeOperand(condition))
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

} // namespace attn::frontend
