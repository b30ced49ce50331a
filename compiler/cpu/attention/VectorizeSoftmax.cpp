// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: weights of scores, tile by tile, and what has been summed where a
// row's maximum grew (online softmax: Milakov and Gimelshein 2018).
#include "compiler/cpu/attention/AttentionTileEmitter.h"
#include "compiler/cpu/vectors/TileRegisters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace attn;

/// Where a maximum grew by so much that weights would do harm: not while they are 2^8 at most, so
/// that what has been summed is rescaled seldom.
Value TileEmitter::isBeyond(Value before, Value maximum) {
  constexpr double slack = 8;
  Value limit = arith::AddFOp::create(builder, loc, before, constant(slack));
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, maximum, limit);
}

Value TileEmitter::keptMaximum(Value before, Value maximum) {
  return arith::SelectOp::create(builder, loc, isBeyond(before, maximum), maximum, before);
}

/// The weights of a vector of scores, and their sums. All through memory: there is no register left
/// beside those of products.
void TileEmitter::weighMore(Value strip, Value statistics, Value key, Value lane) {
  Value maximum = load(statistics, index.constant(Maximum), lane), sumRow = index.constant(Sum),
        sum = load(statistics, sumRow, lane);
  Value difference = arith::SubFOp::create(builder, loc, load(strip, key, lane), maximum);
  Value weight = math::Exp2Op::create(builder, loc, difference);
  store(weight, strip, key, lane);
  store(arith::AddFOp::create(builder, loc, sum, weight), statistics, sumRow, lane);
}

/// The weights of the keys above, while the sums of the first steps are computed: as many as those
/// keys have vectors of scores. Returns the step after them.
Value TileEmitter::weighAbove(ScoreTileOp op, ArrayRef<Value> lanes, const RowProducts &products,
                              SmallVector<Value> &sums) {
  Value zero = index.constant(0), row = op.getRow();
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, row, zero);
  Value keys = arith::SelectOp::create(builder, loc, isFirst, zero, index.constant(op.getWeighs()));
  Value above = index.sub(row, keys), vectors = index.constant(lanes.size());
  sums = sumLoop(keys, sums, [&](Value key, MutableArrayRef<Value> sums) {
    for (auto [w, lane] : llvm::enumerate(lanes)) {
      Value step = plus(index.mul(key, vectors), w);
      SmallVector<Value> factors = products.vectorsAt(step);
      for (int64_t i = 0; i < products.rows; ++i)
        products.add(step, i, factors, sums);
      weighMore(op.getStrip(), op.getStatistics(), index.add(above, key), lane);
    }
  });
  return index.mul(keys, vectors);
}

/// Where a maximum grew too much, weights above the row are those of the larger one.
void TileEmitter::raiseMaxima(ScoreTileOp op, ArrayRef<Value> lanes, ArrayRef<Value> before,
                              ArrayRef<Value> maxima) {
  auto multiply = [&](Value matrix, Value row, Value lane, Value factor) {
    Value product = arith::MulFOp::create(builder, loc, load(matrix, row, lane), factor);
    store(product, matrix, row, lane);
  };
  Value isAny;
  for (size_t w = 0; w < lanes.size(); ++w) {
    Value grew = isBeyond(before[w], maxima[w]);
    isAny = isAny ? arith::OrIOp::create(builder, loc, isAny, grew) : grew;
  }
  isAny = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, isAny);
  choose(index, isAny, [&] {
    SmallVector<Value> factors;
    for (size_t w = 0; w < lanes.size(); ++w) {
      Value maximum = keptMaximum(before[w], maxima[w]);
      Value rescaled = arith::SubFOp::create(builder, loc, before[w], maximum);
      factors.push_back(math::Exp2Op::create(builder, loc, rescaled));
      store(maximum, op.getStatistics(), index.constant(Maximum), lanes[w]);
      for (Statistic statistic : {Sum, Factor})
        multiply(op.getStatistics(), index.constant(statistic), lanes[w], factors[w]);
    }
    forLoop(index, index.constant(0), op.getRow(), 1, [&](Value key) {
      for (auto [lane, factor] : llvm::zip_equal(lanes, factors))
        multiply(op.getStrip(), key, lane, factor);
    });
  });
}

/// Word j may take the place of score j, once those of keys 2 j and 2 j + 1 are read.
void TileEmitter::weighPairs(SoftmaxTileOp op, ArrayRef<Value> lanes, ArrayRef<Value> maxima,
                             MutableArrayRef<Value> sums) {
  Value one = index.constant(1), two = index.constant(2), sumRow = index.constant(Sum);
  auto weight = [&](Value key, size_t w) -> Value {
    Value score = load(op.getStrip(), key, lanes[w]);
    Value difference = arith::SubFOp::create(builder, loc, score, maxima[w]);
    return math::Exp2Op::create(builder, loc, difference, arith::FastMathFlags::afn);
  };
  auto add = [&](Value a, Value b) -> Value { return arith::AddFOp::create(builder, loc, a, b); };
  Value words = index.div(op.getKeys(), two);
  // Halfway between the products that were and those that come; weights that wait are few.
  if (target.amx && op.getStrip() == op.getWeights())
    TileRegisters(index, target).keepTilesAwake();
  SmallVector<Value> all = sumLoop(words, sums, [&](Value word, MutableArrayRef<Value> sums) {
    Value key = index.mul(word, two);
    for (size_t w = 0; w < lanes.size(); ++w) {
      Value even = weight(key, w), odd = weight(index.add(key, one), w);
      store(pairs.wordsOfFinite(even, odd), op.getWeights(), word, lanes[w]);
      sums[w] = add(sums[w], add(even, odd));
    }
  });
  for (size_t w = 0; w < lanes.size(); ++w)
    store(all[w], op.getStatistics(), sumRow, lanes[w]);
  Value isOdd = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                      index.rem(op.getKeys(), two), index.constant(0));
  choose(index, isOdd, [&] {
    for (size_t w = 0; w < lanes.size(); ++w) {
      Value last = weight(index.sub(op.getKeys(), one), w);
      store(pairs.wordsOfFinite(last, constant(0)), op.getWeights(), words, lanes[w]);
      Value sum = load(op.getStatistics(), sumRow, lanes[w]);
      store(add(sum, last), op.getStatistics(), sumRow, lanes[w]);
    }
  });
  if (!target.amx)
    return;
  // What tile registers read beyond the last word: from a multiple of their rows on, if these are
  // the only keys, from anywhere, if their tiles follow one another.
  Value granule = index.constant(TileRegisters::rows), used = index.ceilDiv(op.getKeys(), two);
  Value end = op.getOnline() ? index.mul(index.ceilDiv(used, granule), granule)
                             : index.add(used, index.constant(TileRegisters::rows - 1));
  forLoop(index, used, end, 1, [&](Value word) {
    for (Value lane : lanes)
      store(constant(0), op.getWeights(), word, lane);
  });
}

/// What has been summed keeps its weight where the maximum is the same, and loses it otherwise.
LogicalResult TileEmitter::emitHardmax(SoftmaxTileOp op) {
  int64_t vectors = vectorsOf(op.getQueries());
  auto row = [&](Statistic statistic) { return index.constant(statistic); };
  auto equal = [&](Value a, Value b) -> Value {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, b);
  };
  auto choice = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  };
  Value one = constant(1), zero = constant(0);
  SmallVector<Value> lanes, maxima, found; // found: 1 once a key has the weight
  for (int64_t w = 0; w < vectors; ++w) {
    lanes.push_back(plus(op.getLane(), w * target.lanes));
    Value maximum = load(op.getStatistics(), row(Maximum), lanes[w]);
    Value before = load(op.getStatistics(), row(MaximumBefore), lanes[w]);
    Value oldSum = load(op.getStatistics(), row(Sum), lanes[w]);
    Value factor = choice(equal(maximum, before), one, zero);
    store(factor, op.getStatistics(), row(Factor), lanes[w]);
    store(maximum, op.getStatistics(), row(MaximumBefore), lanes[w]);
    maxima.push_back(maximum);
    found.push_back(arith::MulFOp::create(builder, loc, oldSum, factor));
  }
  found = sumLoop(op.getKeys(), found, [&](Value key, MutableArrayRef<Value> found) {
    for (int64_t w = 0; w < vectors; ++w) {
      Value score = load(op.getStrip(), key, lanes[w]);
      Value isLargest = equal(score, maxima[w]);
      Value isFirst = equal(found[w], zero);
      Value takes = arith::AndIOp::create(builder, loc, isLargest, isFirst);
      Value weight = choice(takes, one, zero);
      store(weight, op.getWeights(), key, lanes[w]);
      found[w] = arith::AddFOp::create(builder, loc, found[w], weight);
    }
  });
  for (int64_t w = 0; w < vectors; ++w)
    store(found[w], op.getStatistics(), row(Sum), lanes[w]);
  return success();
}

/// Maxima that grew too much are taken, and sums of the smaller ones rescaled.
void TileEmitter::takeMaxima(Value statistics, ArrayRef<Value> lanes) {
  auto row = [&](Statistic statistic) { return index.constant(statistic); };
  Value isAny;
  for (Value lane : lanes) {
    Value grew =
        isBeyond(load(statistics, row(MaximumBefore), lane), load(statistics, row(Maximum), lane));
    isAny = isAny ? arith::OrIOp::create(builder, loc, isAny, grew) : grew;
  }
  isAny = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, isAny);
  choose(index, isAny, [&] {
    for (Value lane : lanes) {
      Value before = load(statistics, row(MaximumBefore), lane);
      Value maximum = keptMaximum(before, load(statistics, row(Maximum), lane));
      Value rescaled = arith::SubFOp::create(builder, loc, before, maximum);
      Value factor = math::Exp2Op::create(builder, loc, rescaled);
      Value sum = load(statistics, row(Sum), lane);
      store(arith::MulFOp::create(builder, loc, sum, factor), statistics, row(Sum), lane);
      store(factor, statistics, row(Factor), lane);
      store(maximum, statistics, row(MaximumBefore), lane);
    }
  });
}

LogicalResult TileEmitter::emit(SoftmaxTileOp op) {
  if (op.getHard())
    return emitHardmax(op);
  int64_t vectors = vectorsOf(op.getQueries());
  auto row = [&](Statistic statistic) { return index.constant(statistic); };
  SmallVector<Value> lanes, maxima, sums;
  for (int64_t w = 0; w < vectors; ++w)
    lanes.push_back(plus(op.getLane(), w * target.lanes));
  if (op.getOnline())
    takeMaxima(op.getStatistics(), lanes);
  for (Value lane : lanes) {
    Statistic kept = op.getOnline() ? MaximumBefore : Maximum;
    maxima.push_back(load(op.getStatistics(), row(kept), lane));
    if (op.getOnline())
      store(maxima.back(), op.getStatistics(), row(Maximum), lane);
    bool hasSum = op.getOnline() || op.getMore();
    sums.push_back(hasSum ? load(op.getStatistics(), row(Sum), lane) : constant(0));
  }
  if (op.getPairs()) {
    weighPairs(op, lanes, maxima, sums);
    return success();
  }
  sums = sumLoop(op.getKeys(), sums, [&](Value key, MutableArrayRef<Value> sums) {
    for (int64_t w = 0; w < vectors; ++w) {
      Value score = load(op.getStrip(), key, lanes[w]);
      Value difference = arith::SubFOp::create(builder, loc, score, maxima[w]);
      Value weight = math::Exp2Op::create(builder, loc, difference);
      store(weight, op.getWeights(), key, lanes[w]);
      sums[w] = arith::AddFOp::create(builder, loc, sums[w], weight);
    }
  });
  for (int64_t w = 0; w < vectors; ++w)
    store(sums[w], op.getStatistics(), row(Sum), lanes[w]);
  return success();
}

LogicalResult TileEmitter::emit(FactorTileOp op) {
  Value isAny;
  for (int64_t w = 0; w < vectorsOf(op.getQueries()); ++w) {
    Value factor =
        load(op.getStatistics(), index.constant(Factor), index.constant(w * target.lanes));
    Value isOther = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, factor,
                                          constant(1)); // and of NaN
    isAny = isAny ? arith::OrIOp::create(builder, loc, isAny, isOther) : isOther;
  }
  isAny = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, isAny);
  op.getIsOther().replaceAllUsesWith(isAny);
  return success();
}

LogicalResult TileEmitter::emit(RescaleTileOp op) {
  SmallVector<Value> factors;
  Value factorRow = index.constant(Factor);
  for (int64_t w = 0; w < vectorsOf(op.getQueries()); ++w)
    factors.push_back(load(op.getStatistics(), factorRow, index.constant(w * target.lanes)));
  bool isTurned = op.getTurned();
  int64_t vectors =
      isTurned ? factors.size() : vectorsOf(cast<MemRefType>(op.getSums().getType()).getDimSize(1));
  Value rows = isTurned ? index.dim(op.getSums(), 0) : index.constant(op.getQueries());
  forLoop(index, index.constant(0), rows, 1, [&](Value row) {
    Value own = isTurned ? Value() : broadcast(op.getStatistics(), factorRow, row);
    for (int64_t w = 0; w < vectors; ++w) {
      Value column = index.constant(w * target.lanes), sum = load(op.getSums(), row, column);
      sum = arith::MulFOp::create(builder, loc, sum, own ? own : factors[w]);
      store(sum, op.getSums(), row, column);
    }
  });
  for (int64_t w = 0; w < vectorsOf(op.getQueries()); ++w)
    store(constant(1), op.getStatistics(), factorRow, index.constant(w * target.lanes));
  return success();
}
