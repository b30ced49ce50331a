// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of FloatArithmetic to ops of arith and math.
#include "compiler/kernels/FloatArithmetic.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;

Value FloatArithmetic::add(Value a, Value b) const {
  return arith::AddFOp::create(builder, loc, a, b);
}

Value FloatArithmetic::sub(Value a, Value b) const {
  return arith::SubFOp::create(builder, loc, a, b);
}

Value FloatArithmetic::mul(Value a, Value b) const {
  return arith::MulFOp::create(builder, loc, a, b);
}

Value FloatArithmetic::div(Value a, Value b) const {
  return arith::DivFOp::create(builder, loc, a, b);
}

Value FloatArithmetic::fma(Value a, Value b, Value c) const {
  return math::FmaOp::create(builder, loc, a, b, c);
}

Value FloatArithmetic::neg(Value a) const { return arith::NegFOp::create(builder, loc, a); }
Value FloatArithmetic::abs(Value a) const { return math::AbsFOp::create(builder, loc, a); }
Value FloatArithmetic::sqrt(Value a) const { return math::SqrtOp::create(builder, loc, a); }
Value FloatArithmetic::exp(Value a) const { return math::ExpOp::create(builder, loc, a); }

Value FloatArithmetic::roundEven(Value a) const {
  return math::RoundEvenOp::create(builder, loc, a);
}

Value FloatArithmetic::roundDown(Value a) const { return math::FloorOp::create(builder, loc, a); }

Value FloatArithmetic::larger(Value a, Value b) const {
  return arith::MaximumFOp::create(builder, loc, a, b);
}

Value FloatArithmetic::smaller(Value a, Value b) const {
  return arith::MinimumFOp::create(builder, loc, a, b);
}

Value FloatArithmetic::compare(arith::CmpFPredicate predicate, Value a, Value b) const {
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}

Value FloatArithmetic::select(Value condition, Value a, Value b) const {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}
