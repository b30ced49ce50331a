// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: weights of scores, tile by tile, and what has been summed where a
// row's maximum grew (online softmax: Milakov and Gimelshein 2018).
#include "compiler/cpu/attention/AttentionTiles.h"
#include "compiler/cpu/vectors/TileRegisters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace attn {

/// Word j may take the place of score j, once those of keys 2 j and 2 j + 1 are read.
static void weighPairs(TileVectors &tile, SoftmaxTileOp op, ArrayRef<Value> lanes,
                       ArrayRef<Value> maxima, MutableArrayRef<Value> sums) {
  Value one = tile.index.constant(1), two = tile.index.constant(2),
        sumRow = tile.index.constant(Sum);
  auto weight = [&](Value key, size_t w) -> Value {
    Value score = tile.load(op.getStrip(), key, lanes[w]);
    return tile.weightOf(score, maxima[w], tile.unitOf(op), /*isRough=*/true);
  };
  auto add = [&](Value a, Value b) -> Value {
    return arith::AddFOp::create(tile.builder, tile.loc, a, b);
  };
  Value words = tile.index.div(op.getKeys(), two);
  // Halfway between the products that were and those that come; weights that wait are few.
  if (tile.target.amx && op.getStrip() == op.getWeights())
    TileRegisters(tile.index, tile.target).keepTilesAwake();
  SmallVector<Value> all = tile.sumLoop(words, sums, [&](Value word, MutableArrayRef<Value> sums) {
    Value key = tile.index.mul(word, two);
    for (size_t w = 0; w < lanes.size(); ++w) {
      Value even = weight(key, w), odd = weight(tile.index.add(key, one), w);
      tile.store(tile.pairs.wordsOfFinite(even, odd), op.getWeights(), word, lanes[w]);
      sums[w] = add(sums[w], add(even, odd));
    }
  });
  for (size_t w = 0; w < lanes.size(); ++w)
    tile.store(all[w], op.getStatistics(), sumRow, lanes[w]);
  Value isOdd = arith::CmpIOp::create(tile.builder, tile.loc, arith::CmpIPredicate::ne,
                                      tile.index.rem(op.getKeys(), two), tile.index.constant(0));
  choose(tile.index, isOdd, [&] {
    for (size_t w = 0; w < lanes.size(); ++w) {
      Value last = weight(tile.index.sub(op.getKeys(), one), w);
      tile.store(tile.pairs.wordsOfFinite(last, tile.constant(0)), op.getWeights(), words,
                 lanes[w]);
      Value sum = tile.load(op.getStatistics(), sumRow, lanes[w]);
      tile.store(add(sum, last), op.getStatistics(), sumRow, lanes[w]);
    }
  });
  if (!tile.target.amx)
    return;
  // What tile registers read beyond the last word: from a multiple of their rows on, if these are
  // the only keys, from anywhere, if their tiles follow one another.
  Value granule = tile.index.constant(TileRegisters::rows),
        used = tile.index.ceilDiv(op.getKeys(), two);
  Value end = op.getOnline() ? tile.index.mul(tile.index.ceilDiv(used, granule), granule)
                             : tile.index.add(used, tile.index.constant(TileRegisters::rows - 1));
  forLoop(tile.index, used, end, 1, [&](Value word) {
    for (Value lane : lanes)
      tile.store(tile.constant(0), op.getWeights(), word, lane);
  });
}

/// What has been summed keeps its weight where the maximum is the same, and loses it otherwise.
static LogicalResult emitHardmax(TileVectors &tile, SoftmaxTileOp op) {
  int64_t vectors = tile.vectorsOf(op.getQueries());
  auto row = [&](Statistic statistic) { return tile.index.constant(statistic); };
  auto equal = [&](Value a, Value b) -> Value {
    return arith::CmpFOp::create(tile.builder, tile.loc, arith::CmpFPredicate::OEQ, a, b);
  };
  auto choice = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(tile.builder, tile.loc, condition, yes, no);
  };
  Value one = tile.constant(1), zero = tile.constant(0);
  SmallVector<Value> lanes, maxima, found; // found: 1 once a key has the weight
  for (int64_t w = 0; w < vectors; ++w) {
    lanes.push_back(tile.plus(op.getLane(), w * tile.target.lanes));
    Value maximum = tile.load(op.getStatistics(), row(Maximum), lanes[w]);
    Value before = tile.load(op.getStatistics(), row(MaximumBefore), lanes[w]);
    Value oldSum = tile.load(op.getStatistics(), row(Sum), lanes[w]);
    Value factor = choice(equal(maximum, before), one, zero);
    tile.store(factor, op.getStatistics(), row(Factor), lanes[w]);
    tile.store(maximum, op.getStatistics(), row(MaximumBefore), lanes[w]);
    maxima.push_back(maximum);
    found.push_back(arith::MulFOp::create(tile.builder, tile.loc, oldSum, factor));
  }
  found = tile.sumLoop(op.getKeys(), found, [&](Value key, MutableArrayRef<Value> found) {
    for (int64_t w = 0; w < vectors; ++w) {
      Value score = tile.load(op.getStrip(), key, lanes[w]);
      Value isLargest = equal(score, maxima[w]);
      Value isFirst = equal(found[w], zero);
      Value takes = arith::AndIOp::create(tile.builder, tile.loc, isLargest, isFirst);
      Value weight = choice(takes, one, zero);
      tile.store(weight, op.getWeights(), key, lanes[w]);
      found[w] = arith::AddFOp::create(tile.builder, tile.loc, found[w], weight);
    }
  });
  for (int64_t w = 0; w < vectors; ++w)
    tile.store(found[w], op.getStatistics(), row(Sum), lanes[w]);
  return success();
}

/// Maxima that grew too much are taken, and sums of the smaller ones rescaled.
static void takeMaxima(TileVectors &tile, SoftmaxTileOp op, ArrayRef<Value> lanes) {
  Value statistics = op.getStatistics();
  auto row = [&](Statistic statistic) { return tile.index.constant(statistic); };
  Value isAny;
  for (Value lane : lanes) {
    Value grew = tile.isBeyond(tile.load(statistics, row(MaximumBefore), lane),
                               tile.load(statistics, row(Maximum), lane), tile.unitOf(op));
    isAny = isAny ? arith::OrIOp::create(tile.builder, tile.loc, isAny, grew) : grew;
  }
  isAny = vector::ReductionOp::create(tile.builder, tile.loc, vector::CombiningKind::OR, isAny);
  choose(tile.index, isAny, [&] {
    for (Value lane : lanes) {
      Value before = tile.load(statistics, row(MaximumBefore), lane);
      Value maximum =
          tile.keptMaximum(before, tile.load(statistics, row(Maximum), lane), tile.unitOf(op));
      Value factor = tile.weightOf(before, maximum, tile.unitOf(op));
      Value sum = tile.load(statistics, row(Sum), lane);
      tile.store(arith::MulFOp::create(tile.builder, tile.loc, sum, factor), statistics, row(Sum),
                 lane);
      tile.store(factor, statistics, row(Factor), lane);
      tile.store(maximum, statistics, row(MaximumBefore), lane);
    }
  });
}

LogicalResult vectorize(TileVectors &tile, SoftmaxTileOp op) {
  if (op.getHard())
    return emitHardmax(tile, op);
  int64_t vectors = tile.vectorsOf(op.getQueries());
  auto row = [&](Statistic statistic) { return tile.index.constant(statistic); };
  SmallVector<Value> lanes, maxima, sums;
  for (int64_t w = 0; w < vectors; ++w)
    lanes.push_back(tile.plus(op.getLane(), w * tile.target.lanes));
  if (op.getOnline())
    takeMaxima(tile, op, lanes);
  for (Value lane : lanes) {
    Statistic kept = op.getOnline() ? MaximumBefore : Maximum;
    maxima.push_back(tile.load(op.getStatistics(), row(kept), lane));
    if (op.getOnline())
      tile.store(maxima.back(), op.getStatistics(), row(Maximum), lane);
    bool hasSum = op.getOnline() || op.getMore();
    sums.push_back(hasSum ? tile.load(op.getStatistics(), row(Sum), lane) : tile.constant(0));
  }
  if (op.getPairs()) {
    weighPairs(tile, op, lanes, maxima, sums);
    return success();
  }
  sums = tile.sumLoop(op.getKeys(), sums, [&](Value key, MutableArrayRef<Value> sums) {
    for (int64_t w = 0; w < vectors; ++w) {
      Value score = tile.load(op.getStrip(), key, lanes[w]);
      Value weight = tile.weightOf(score, maxima[w], tile.unitOf(op));
      tile.store(weight, op.getWeights(), key, lanes[w]);
      sums[w] = arith::AddFOp::create(tile.builder, tile.loc, sums[w], weight);
    }
  });
  for (int64_t w = 0; w < vectors; ++w)
    tile.store(sums[w], op.getStatistics(), row(Sum), lanes[w]);
  return success();
}

LogicalResult vectorize(TileVectors &tile, FactorTileOp op) {
  Value isAny;
  for (int64_t w = 0; w < tile.vectorsOf(op.getQueries()); ++w) {
    Value factor = tile.load(op.getStatistics(), tile.index.constant(Factor),
                             tile.index.constant(w * tile.target.lanes));
    Value isOther = arith::CmpFOp::create(tile.builder, tile.loc, arith::CmpFPredicate::UNE, factor,
                                          tile.constant(1)); // and of NaN
    isAny = isAny ? arith::OrIOp::create(tile.builder, tile.loc, isAny, isOther) : isOther;
  }
  isAny = vector::ReductionOp::create(tile.builder, tile.loc, vector::CombiningKind::OR, isAny);
  op.getIsOther().replaceAllUsesWith(isAny);
  return success();
}

LogicalResult vectorize(TileVectors &tile, RescaleTileOp op) {
  SmallVector<Value> factors;
  Value factorRow = tile.index.constant(Factor);
  for (int64_t w = 0; w < tile.vectorsOf(op.getQueries()); ++w)
    factors.push_back(
        tile.load(op.getStatistics(), factorRow, tile.index.constant(w * tile.target.lanes)));
  bool isTurned = op.getTurned();
  int64_t vectors = isTurned
                        ? factors.size()
                        : tile.vectorsOf(cast<MemRefType>(op.getSums().getType()).getDimSize(1));
  Value rows = isTurned ? tile.index.dim(op.getSums(), 0) : tile.index.constant(op.getQueries());
  forLoop(tile.index, tile.index.constant(0), rows, 1, [&](Value row) {
    Value own = isTurned ? Value() : tile.broadcast(op.getStatistics(), factorRow, row);
    for (int64_t w = 0; w < vectors; ++w) {
      Value column = tile.index.constant(w * tile.target.lanes),
            sum = tile.load(op.getSums(), row, column);
      sum = arith::MulFOp::create(tile.builder, tile.loc, sum, own ? own : factors[w]);
      tile.store(sum, op.getSums(), row, column);
    }
  });
  for (int64_t w = 0; w < tile.vectorsOf(op.getQueries()); ++w)
    tile.store(tile.constant(1), op.getStatistics(), factorRow,
               tile.index.constant(w * tile.target.lanes));
  return success();
}

} // namespace attn
