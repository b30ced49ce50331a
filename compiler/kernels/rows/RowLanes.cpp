// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of RowLanes that are the same on CPUs and GPUs.
#include "compiler/kernels/rows/RowLanes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

RowLanes::~RowLanes() = default;

Value RowLanes::fold(Value columns, int64_t unroll, Value start, Combine combine,
                     llvm::function_ref<Value(const RowPlace &, Value)> step) const {
  auto next = [&](const RowPlace &place, ValueRange state) {
    return RowFold::State{step(place, state[0])};
  };
  auto join = [&](ValueRange a, ValueRange b) { return RowFold::State{combine(a[0], b[0])}; };
  return fold(columns, unroll, RowFold{{start}, next, join})[0];
}

Value RowLanes::sumOfLanes(Value value) const {
  return acrossLanes(value, [&](Value a, Value b) { return math.add(a, b); });
}

Value RowLanes::inRow(const RowPlace &place, Value value, Value rest) const {
  return place.mask ? math.select(place.mask, value, rest) : value;
}

Value RowLanes::loadFloats(Value row, const RowPlace &place, Value rest) const {
  return widened(index, load(row, place, rest));
}

Value RowLanes::loadNumber(Value row, Value column) const {
  return widened(index, memref::LoadOp::create(index.builder, index.loc, row, column));
}

Value RowLanes::number(double value) const {
  return arith::ConstantOp::create(index.builder, index.loc, index.builder.getF32FloatAttr(value));
}

Value RowLanes::asFloat(Value count) const {
  if (std::optional<int64_t> constant = constantIndex(count))
    return number(static_cast<double>(*constant));
  OpBuilder &builder = index.builder;
  Value wide = arith::IndexCastOp::create(builder, index.loc, builder.getI64Type(), count);
  return arith::SIToFPOp::create(builder, index.loc, builder.getF32Type(), wide);
}
