// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of formulas as ops: whole numbers as positions, numbers as f32.
#include "compiler/frontend/sema/attention/Formula.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
namespace arith = mlir::arith;
using Kind = FormulaValue::Kind;

llvm::StringRef Formula::consistsOf() const {
  if (isSink)
    return "a sink is a number for each query, of positions, numbers and what is read from tensors";
  switch (hook) {
  case HookDecl::Hook::Score:
    return "a score consists of dot(q, k), sum(x), unit(x), dim(q), its own linear maps and "
           "tensors, numbers, `+ - * /`, sqrt, rsqrt, exp, log, tanh, sin, cos, abs, min, max and "
           "clamp";
  case HookDecl::Hook::Bias:
    return "a bias consists of positions, numbers, what is read from tensors, other biases, "
           "`+ - * / % **`, comparisons, `if`, min, max, clamp, floor, sqrt, rsqrt, exp, log, "
           "tanh, sin, "
           "cos and abs";
  case HookDecl::Hook::Mask:
    return "a mask consists of positions, numbers and what is read from tensors, that are "
           "compared, of other masks, and of `and`, `or`, `not`";
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

bool Formula::hasNoFraction(const FormulaValue &value) const {
  return isWhole(value) || value.isFloored;
}

/// A number without a fraction, which is in its interval or NaN, as a position in that.
static mlir::Value positionOf(const FormulaValue &value, mlir::OpBuilder &b, mlir::Location loc) {
  auto within = [&](arith::CmpFPredicate predicate, mlir::Value x, int64_t bound) {
    mlir::Value end = constantOf(b, loc, static_cast<double>(bound)),
                isWithin = arith::CmpFOp::create(b, loc, predicate, x, end); // not of NaN
    return arith::SelectOp::create(b, loc, isWithin, x, end).getResult();
  };
  mlir::Value x = within(arith::CmpFPredicate::OGE, value.value, value.range.low);
  x = within(arith::CmpFPredicate::OLE, x, value.range.high);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                    arith::FPToSIOp::create(b, loc, b.getI32Type(), x));
}

mlir::Value Formula::position(const FormulaValue &value) const {
  if (value.kind == Kind::Position)
    return value.value;
  if (value.isFloored)
    return positionOf(value, builder, loc);
  return arith::ConstantIndexOp::create(builder, loc, static_cast<int64_t>(value.number));
}

Interval Formula::rangeOf(const FormulaValue &value) {
  return value.kind == Kind::Number ? Interval::of(static_cast<int64_t>(value.number))
                                    : value.range;
}

mlir::Value Formula::scalar(const FormulaValue &value) const {
  if (value.kind == Kind::Scalar)
    return value.value;
  if (value.kind == Kind::Number)
    return constantOf(builder, loc, value.number);
  mlir::Value number = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value.value);
  return arith::SIToFPOp::create(builder, loc, builder.getF32Type(), number);
}

mlir::Value Formula::vector(const FormulaValue &value, mlir::Type like) const {
  if (value.kind == Kind::Vector)
    return value.value;
  auto splat = mlir::DenseElementsAttr::get(
      llvm::cast<mlir::ShapedType>(like), llvm::ArrayRef<float>(static_cast<float>(value.number)));
  return arith::ConstantOp::create(builder, loc, splat);
}

} // namespace attn::frontend
