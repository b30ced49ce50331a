// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: values brought together, and their products with weights, with
// features in the lanes.
#include "compiler/cpu/attention/AttentionTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace attn {

LogicalResult vectorize(TileVectors &tile, PackTileOp op) {
  int64_t columns = cast<MemRefType>(op.getValue().getType()).getDimSize(1);
  forLoop(tile.index, tile.index.constant(0), op.getKeys(), 1, [&](Value key) {
    for (int64_t c = 0; c < columns; c += tile.target.lanes) {
      Value column = tile.index.constant(c);
      tile.store(tile.load(op.getValue(), key, column, columns - c), op.getPacked(), key, column);
    }
  });
  return success();
}

LogicalResult vectorize(TileVectors &tile, ValueTileOp op) {
  int64_t rowCount = op.getRows(), columns = op.getColumns(), vectors = tile.vectorsOf(columns);
  SmallVector<Value> rows, places;
  for (int64_t i = 0; i < rowCount; ++i)
    rows.push_back(tile.plus(op.getRow(), i));
  for (int64_t c = 0; c < vectors; ++c)
    places.push_back(tile.plus(op.getColumn(), c * tile.target.lanes));
  // Sums and packed values have room for whole vectors. The last vector is half as wide where that
  // will do: with AVX-512, a multiply-add of 256 bits takes half as long on Zen 4.
  bool isPacked = cast<MemRefType>(op.getValue().getType()).getDimSize(1) % tile.target.lanes == 0;
  auto width = [&](int64_t c) {
    bool isHalf = tile.target.avx512 && columns - c * tile.target.lanes <= tile.target.lanes / 2;
    return isHalf ? tile.target.lanes / 2 : tile.target.lanes;
  };
  auto ofWidth = [&](Value vector, int64_t c) -> Value {
    if (width(c) == tile.target.lanes)
      return vector;
    return vector::ExtractStridedSliceOp::create(tile.builder, tile.loc, vector, 0, width(c), 1);
  };
  SmallVector<Value> sums; // [row][vector]
  for (Value row : rows)
    for (int64_t c = 0; c < vectors; ++c)
      sums.push_back(op.getAccumulate()
                         ? tile.load(op.getSums(), row, places[c], width(c), width(c))
                         : ofWidth(tile.constant(0), c));
  auto valuesAt = [&](Value key) {
    SmallVector<Value> values;
    for (int64_t c = 0; c < vectors; ++c) {
      int64_t readable = isPacked ? width(c) : columns - c * tile.target.lanes;
      values.push_back(tile.load(op.getValue(), key, places[c], readable, width(c)));
    }
    return values;
  };
  auto add = [&](Value key, int64_t i, ArrayRef<Value> values, MutableArrayRef<Value> sums) {
    Value weight = tile.broadcast(op.getStrip(), key, rows[i]), isLive;
    if (op.getSelects())
      isLive = arith::CmpFOp::create(tile.builder, tile.loc, arith::CmpFPredicate::UNE, weight,
                                     tile.constant(0));
    for (int64_t c = 0; c < vectors; ++c) {
      Value &sum = sums[i * vectors + c], before = sum, value = values[c];
      Value own = ofWidth(weight, c), isOwnLive = isLive ? ofWidth(isLive, c) : Value();
      // One instruction with AVX-512: a fused multiply-add under a mask. AVX2 has an `and` for
      // the value.
      if (isLive && !tile.target.avx512)
        value = arith::SelectOp::create(tile.builder, tile.loc, isLive, value, tile.constant(0));
      sum = tile.multiplyAdd(own, value, before);
      if (isLive && tile.target.avx512)
        sum = arith::SelectOp::create(tile.builder, tile.loc, isOwnLive, sum, before);
    }
  };
  auto finish = [&](int64_t i, ArrayRef<Value> sums) {
    for (int64_t c = 0; c < vectors; ++c)
      tile.store(sums[i * vectors + c], op.getSums(), rows[i], places[c]);
  };
  tile.sumProducts(tile.index.constant(0), op.getKeys(), sums, {rowCount, valuesAt, add, finish});
  return success();
}

} // namespace attn
