// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weights and biases of a norm to arithmetic.
#include "compiler/kernels/NormRow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;

/// A constant of f32, or a vector of it.
static Value constant(OpBuilder &builder, Location loc, Type type, double value) {
  TypedAttr number = builder.getF32FloatAttr(static_cast<float>(value));
  if (auto vector = dyn_cast<VectorType>(type))
    number = DenseElementsAttr::get(vector, number);
  return arith::ConstantOp::create(builder, loc, number);
}

Value attn::scaleAndShift(OpBuilder &builder, NormRowOp op, Value normalised,
                          llvm::function_ref<Value(Value row)> load) {
  Location loc = op.getLoc();
  Value factor = op.getWeight() ? load(op.getWeight()) : Value();
  if (double offset = op.getNorm().offset(); factor && offset != 0)
    factor = arith::AddFOp::create(builder, loc, factor,
                                   constant(builder, loc, factor.getType(), offset));
  if (!op.getBias())
    return factor ? arith::MulFOp::create(builder, loc, normalised, factor) : normalised;
  Value bias = load(op.getBias());
  return factor ? math::FmaOp::create(builder, loc, normalised, factor, bias).getResult()
                : arith::AddFOp::create(builder, loc, normalised, bias).getResult();
}
