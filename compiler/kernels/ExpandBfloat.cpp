// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bf16 is the upper half of an f32: conversions are shifts. LLVM would call a function where the
// CPU has no instruction for them.
#include "compiler/kernels/MathBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace attn;

/// `type`, a vector or none, of other elements.
static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), element);
  return element;
}

static Value constantLike(OpBuilder &builder, Location loc, Type type, int64_t value) {
  auto attribute = builder.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(vector, Attribute(attribute)));
  return arith::ConstantOp::create(builder, loc, attribute);
}

void attn::expandFromBfloat(arith::ExtFOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type narrow = withElement(op.getType(), builder.getI16Type()),
       wide = withElement(op.getType(), builder.getI32Type());
  Value bits = arith::BitcastOp::create(builder, loc, narrow, op.getIn());
  bits = arith::ExtUIOp::create(builder, loc, wide, bits);
  bits = arith::ShLIOp::create(builder, loc, bits, constantLike(builder, loc, wide, 16));
  op.replaceAllUsesWith(arith::BitcastOp::create(builder, loc, op.getType(), bits).getResult());
  op.erase();
}

// To the nearest, of two to the even one: a carry from the lower half goes where it belongs. A NaN
// keeps its upper half, made quiet, so that it does not become an infinity.
void attn::expandToBfloat(arith::TruncFOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value x = op.getIn();
  Type narrow = withElement(x.getType(), builder.getI16Type()),
       wide = withElement(x.getType(), builder.getI32Type());
  auto number = [&](int64_t value) { return constantLike(builder, loc, wide, value); };
  Value bits = arith::BitcastOp::create(builder, loc, wide, x);
  Value upper = arith::ShRUIOp::create(builder, loc, bits, number(16));
  Value odd = arith::AndIOp::create(builder, loc, upper, number(1));
  Value rounded = arith::AddIOp::create(builder, loc, bits,
                                        arith::AddIOp::create(builder, loc, odd, number(0x7fff)));
  rounded = arith::ShRUIOp::create(builder, loc, rounded, number(16));
  Value quiet = arith::OrIOp::create(builder, loc, upper, number(0x40));
  Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, x, x);
  Value result = arith::SelectOp::create(builder, loc, isNan, quiet, rounded);
  result = arith::TruncIOp::create(builder, loc, narrow, result);
  op.replaceAllUsesWith(arith::BitcastOp::create(builder, loc, op.getType(), result).getResult());
  op.erase();
}
