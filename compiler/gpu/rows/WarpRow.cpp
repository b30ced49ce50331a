// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of RowLanes for a warp.
#include "compiler/gpu/rows/WarpRow.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

Value WarpRow::load(Value row, const RowPlace &place, Value rest) const {
  return memref::LoadOp::create(index.builder, index.loc, row, place.column);
}

void WarpRow::store(Value value, Value row, const RowPlace &place) const {
  warp.store(value, row, place.column);
}

void WarpRow::storeNumber(Value number, Value row, Value column) const {
  Value isFirst = arith::CmpIOp::create(index.builder, index.loc, arith::CmpIPredicate::eq,
                                        warp.lane, index.constant(0));
  choose(index, isFirst, [&] { warp.store(number, row, column); });
}

Value WarpRow::repeat(Value number) const {
  if (!number.getType().isIndex())
    return number;
  Type i32 = index.builder.getI32Type();
  return arith::IndexCastOp::create(index.builder, index.loc, i32, number);
}

Value WarpRow::acrossLanes(Value value, Combine combine) const {
  return warp.combine(value, combine);
}

Value WarpRow::apply(Region &body, ValueRange elements) const {
  return inlineHook(index.builder, body, elements, {}, {});
}

void WarpRow::forEach(Value columns, int64_t unroll,
                      llvm::function_ref<void(const RowPlace &)> body) const {
  warp.forEach(columns, [&](Value column) { body({column, {}}); });
}

void WarpRow::forPlaces(Value columns, int64_t most,
                        llvm::function_ref<void(ArrayRef<RowPlace>)> body) const {
  warp.forEach(columns, [&](Value column) { body(RowPlace{column, {}}); });
}

RowFold::State WarpRow::fold(Value columns, int64_t unroll, const RowFold &fold,
                             ValueRange before) const {
  ValueRange first = before.empty() ? ValueRange(fold.start) : before;
  return warp.forEach(columns, first, [&](Value column, ValueRange state) {
    return fold.step({column, {}}, state);
  });
}
