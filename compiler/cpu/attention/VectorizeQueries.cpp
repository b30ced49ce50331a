// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: queries into the lanes, and statistics as they are before the first
// key.
#include "compiler/cpu/attention/AttentionTiles.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;

namespace attn {

/// Features [feature, feature + valid) of `lanes` queries.
static void transposeQueries(TileVectors &tile, QueryTileOp op, ArrayRef<Value> rows, Value feature,
                             int64_t valid) {
  Value scale = tile.constant(op.getScale().convertToDouble());
  SmallVector<Value> vectors;
  for (Value row : rows)
    vectors.push_back(tile.load(op.getQuery(), row, feature, valid));
  for (int64_t lane = 0; lane < tile.target.lanes; ++lane) // the next vector's
    tile.prefetch(op.getQuery(), tile.plus(op.getRow(), tile.target.lanes + lane), feature, valid);
  tile.transpose(vectors);
  for (Value &vector : MutableArrayRef(vectors).take_front(valid))
    vector = arith::MulFOp::create(tile.builder, tile.loc, vector, scale);
  if (!op.getPairs()) {
    for (int64_t e = 0; e < valid; ++e)
      tile.store(vectors[e], op.getBlock(), tile.plus(feature, e), op.getLane());
    return;
  }
  Value first = tile.index.div(feature, tile.index.constant(2));
  for (int64_t e = 0; e < valid; e += 2) {
    Value odd = e + 1 < valid ? vectors[e + 1] : tile.constant(0);
    tile.store(tile.pairs.words(vectors[e], odd), op.getBlock(), tile.plus(first, e / 2),
               op.getLane());
  }
}

LogicalResult vectorize(TileVectors &tile, QueryTileOp op) {
  int64_t lanes = tile.target.lanes;
  if (static_cast<int64_t>(op.getQueries()) != lanes)
    return op.emitError("expected a vector of ") << lanes << " queries";
  int64_t features = cast<MemRefType>(op.getQuery().getType()).getDimSize(1);
  Value last = tile.index.sub(tile.index.dim(op.getQuery(), 0), tile.index.constant(1));
  SmallVector<Value> rows; // lanes beyond the last query repeat it
  for (int64_t lane = 0; lane < lanes; ++lane)
    rows.push_back(tile.index.min(tile.plus(op.getRow(), lane), last));
  int64_t whole = features / lanes * lanes;
  if (whole > 0)
    forLoop(tile.index, tile.index.constant(0), tile.index.constant(whole), lanes,
            [&](Value feature) { transposeQueries(tile, op, rows, feature, lanes); });
  if (whole < features)
    transposeQueries(tile, op, rows, tile.index.constant(whole), features - whole);
  if (op.getPairs())
    forLoop(tile.index, tile.index.constant(llvm::divideCeil(features, 2)),
            tile.index.dim(op.getBlock(), 0), 1,
            [&](Value word) { tile.store(tile.constant(0), op.getBlock(), word, op.getLane()); });
  return success();
}

/// Scores in base 2.
static constexpr double log2e = 1.4426950408889634;

LogicalResult vectorize(TileVectors &tile, ResetTileOp op) {
  // Never -inf, so that a row of -inf alone has weights exp2(-inf - maximum) = 0.
  Value maximum = tile.constant(std::numeric_limits<float>::lowest()), sum = tile.constant(0);
  if (!op.getSink().empty()) {
    SmallVector<Value> arguments(op.getPositions().drop_back(2));
    Value first = op.getPositions().drop_back().back(), last = op.getPositions().back();
    arguments.push_back(tile.queryPositions(first, last, 0));
    Value sink = vectorizeRegion(tile.builder, op.getSink(), arguments, tile.target.lanes);
    if (!sink)
      return failure();
    Value score = sink;
    if (tile.unitOf(op) == 1)
      score = arith::MulFOp::create(tile.builder, tile.loc, sink, tile.constant(log2e));
    maximum = tile.larger(maximum, score);
    Value isNone = arith::CmpFOp::create(
        tile.builder, tile.loc, arith::CmpFPredicate::OEQ, score,
        tile.constant(-std::numeric_limits<double>::infinity())); // no further key
    sum =
        arith::SelectOp::create(tile.builder, tile.loc, isNone, tile.constant(0), tile.constant(1));
  }
  std::pair<Statistic, Value> resets[] = {
      {Maximum, maximum}, {Sum, sum}, {Factor, tile.constant(1)}, {MaximumBefore, maximum}};
  for (int64_t lane = 0; lane < static_cast<int64_t>(op.getQueries()); lane += tile.target.lanes)
    for (auto [row, value] : resets)
      tile.store(value, op.getStatistics(), tile.index.constant(row),
                 tile.plus(op.getLane(), lane));
  return success();
}

} // namespace attn
