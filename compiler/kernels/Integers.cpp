// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of Integers to ops of arith, folded where operands are constants, and to loops.
#include "compiler/kernels/Integers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

Value Integers::constant(int64_t value) const {
  return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(int32_t(value)));
}
Value Integers::bitXor(Value a, Value b) const {
  return builder.createOrFold<arith::XOrIOp>(loc, a, b);
}
Value Integers::equals(Value a, int64_t b) const {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, a, constant(b));
}
Value Integers::below(Value a, Value b) const {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, a, b);
}
Value Integers::select(Value condition, Value a, Value b) const {
  return builder.createOrFold<arith::SelectOp>(loc, condition, a, b);
}
Value Integers::fromIndex(Value index) const {
  return builder.createOrFold<arith::IndexCastUIOp>(loc, builder.getI32Type(), index);
}
Value Integers::toIndex(Value value) const {
  return builder.createOrFold<arith::IndexCastUIOp>(loc, builder.getIndexType(), value);
}

SmallVector<Value>
Integers::loop(Value from, Value to, Value step, ValueRange inits,
               llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) const {
  return carryingLoop(IndexBuilder(builder, loc), from, to, step, inits, body);
}

void Integers::when(Value condition, llvm::function_ref<void()> yes,
                    llvm::function_ref<void()> no) const {
  choose(IndexBuilder(builder, loc), condition, yes, no);
}
