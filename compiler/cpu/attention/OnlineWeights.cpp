// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: weights of scores while the next ones are computed, and what becomes
// of them where a row's maximum grew (online softmax: Milakov and Gimelshein 2018).
#include "compiler/cpu/attention/OnlineWeights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace attn {

/// The weights of a vector of scores, and their sums. All through memory: there is no register left
/// beside those of products.
static void weighMore(TileVectors &tile, ScoreTileOp op, Value key, Value lane) {
  AtPlace place = tile.writeFor(AttentionTerm::Weight);
  Value strip = op.getStrip(), statistics = op.getStatistics(), sumRow = tile.index.constant(Sum);
  Value maximum = tile.load(statistics, tile.index.constant(Maximum), lane),
        sum = tile.load(statistics, sumRow, lane);
  Value weight = tile.weightOf(tile.load(strip, key, lane), maximum, tile.unitOf(op));
  tile.store(weight, strip, key, lane);
  tile.store(arith::AddFOp::create(tile.builder, tile.loc, sum, weight), statistics, sumRow, lane);
}

Value weighAbove(TileVectors &tile, ScoreTileOp op, ArrayRef<Value> lanes,
                 const RowProducts &products, SmallVector<Value> &sums) {
  Value zero = tile.index.constant(0), row = op.getRow();
  Value isFirst =
      arith::CmpIOp::create(tile.builder, tile.loc, arith::CmpIPredicate::eq, row, zero);
  Value keys = arith::SelectOp::create(tile.builder, tile.loc, isFirst, zero,
                                       tile.index.constant(op.getWeighs()));
  Value above = tile.index.sub(row, keys), vectors = tile.index.constant(lanes.size());
  sums = tile.sumLoop(keys, sums, [&](Value key, MutableArrayRef<Value> sums) {
    for (auto [w, lane] : llvm::enumerate(lanes)) {
      Value step = tile.plus(tile.index.mul(key, vectors), w);
      SmallVector<Value> factors = products.vectorsAt(step);
      for (int64_t i = 0; i < products.rows; ++i)
        products.add(step, i, factors, sums);
      weighMore(tile, op, tile.index.add(above, key), lane);
    }
  });
  return tile.index.mul(keys, vectors);
}

void raiseMaxima(TileVectors &tile, ScoreTileOp op, ArrayRef<Value> lanes, ArrayRef<Value> before,
                 ArrayRef<Value> maxima) {
  AtPlace place = tile.writeFor(AttentionTerm::Weight);
  auto multiply = [&](Value matrix, Value row, Value lane, Value factor) {
    Value product =
        arith::MulFOp::create(tile.builder, tile.loc, tile.load(matrix, row, lane), factor);
    tile.store(product, matrix, row, lane);
  };
  Value isAny;
  for (size_t w = 0; w < lanes.size(); ++w) {
    Value grew = tile.isBeyond(before[w], maxima[w], tile.unitOf(op));
    isAny = isAny ? arith::OrIOp::create(tile.builder, tile.loc, isAny, grew) : grew;
  }
  isAny = vector::ReductionOp::create(tile.builder, tile.loc, vector::CombiningKind::OR, isAny);
  choose(tile.index, isAny, [&] {
    SmallVector<Value> factors;
    for (size_t w = 0; w < lanes.size(); ++w) {
      Value maximum = tile.keptMaximum(before[w], maxima[w], tile.unitOf(op));
      factors.push_back(tile.weightOf(before[w], maximum, tile.unitOf(op)));
      tile.store(maximum, op.getStatistics(), tile.index.constant(Maximum), lanes[w]);
      for (Statistic statistic : {Sum, Factor})
        multiply(op.getStatistics(), tile.index.constant(statistic), lanes[w], factors[w]);
    }
    forLoop(tile.index, tile.index.constant(0), op.getRow(), 1, [&](Value key) {
      for (auto [lane, factor] : llvm::zip_equal(lanes, factors))
        multiply(op.getStrip(), key, lane, factor);
    });
  });
}

} // namespace attn
