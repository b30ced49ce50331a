// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: weights of scores, tile by tile, and what has been summed where a
// row's maximum grew (online softmax: Milakov and Gimelshein 2018).
#include "compiler/cpu/AttentionTileEmitter.h"
#include "compiler/cpu/TileRegisters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace attn;

/// Something to subtract: 0 for a row of -inf alone, so that its weights become exp2(-inf) = 0.
Value TileEmitter::finiteMaximum(Value maximum) {
  Value none = constant(-std::numeric_limits<double>::infinity());
  Value isNone = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, maximum, none);
  return arith::SelectOp::create(builder, loc, isNone, constant(0), maximum);
}

/// The maximum before where it grew by so little that weights of up to 2^8 do no harm: what has
/// been summed is rescaled seldom then.
Value TileEmitter::keptMaximum(Value before, Value maximum) {
  constexpr double slack = 8;
  Value limit = arith::AddFOp::create(builder, loc, before, constant(slack));
  Value isBeyond = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, maximum, limit);
  return arith::SelectOp::create(builder, loc, isBeyond, maximum, before);
}

/// Word j takes the place of score j, once those of keys 2 j and 2 j + 1 are read.
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
  SmallVector<Value> all = sumLoop(words, sums, [&](Value word, MutableArrayRef<Value> sums) {
    Value key = index.mul(word, two);
    for (size_t w = 0; w < lanes.size(); ++w) {
      Value even = weight(key, w), odd = weight(index.add(key, one), w);
      store(pairs.words(even, odd), op.getStrip(), word, lanes[w]);
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
      store(pairs.words(last, constant(0)), op.getStrip(), words, lanes[w]);
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
      store(constant(0), op.getStrip(), word, lane);
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
  Value none = constant(-std::numeric_limits<double>::infinity()), one = constant(1),
        zero = constant(0);
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
      Value isLive = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, score, none);
      Value isFirst = equal(found[w], zero);
      Value takes = arith::AndIOp::create(builder, loc, isLargest,
                                          arith::AndIOp::create(builder, loc, isLive, isFirst));
      Value weight = choice(takes, one, zero);
      store(weight, op.getStrip(), key, lanes[w]);
      found[w] = arith::AddFOp::create(builder, loc, found[w], weight);
    }
  });
  for (int64_t w = 0; w < vectors; ++w)
    store(found[w], op.getStatistics(), row(Sum), lanes[w]);
  return success();
}

LogicalResult TileEmitter::emit(SoftmaxTileOp op) {
  if (op.getHard())
    return emitHardmax(op);
  int64_t vectors = vectorsOf(op.getQueries());
  auto row = [&](Statistic statistic) { return index.constant(statistic); };
  SmallVector<Value> lanes, maxima, sums;
  for (int64_t w = 0; w < vectors; ++w) {
    lanes.push_back(plus(op.getLane(), w * target.lanes));
    Value maximum = load(op.getStatistics(), row(Maximum), lanes[w]), sum = constant(0);
    if (op.getOnline()) {
      Value before = load(op.getStatistics(), row(MaximumBefore), lanes[w]);
      maximum = keptMaximum(before, maximum);
      Value rescaled = arith::SubFOp::create(builder, loc, before, finiteMaximum(maximum));
      Value factor = math::Exp2Op::create(builder, loc, rescaled);
      Value oldSum = load(op.getStatistics(), row(Sum), lanes[w]);
      sum = arith::MulFOp::create(builder, loc, oldSum, factor);
      store(factor, op.getStatistics(), row(Factor), lanes[w]);
      store(maximum, op.getStatistics(), row(Maximum), lanes[w]);
      store(maximum, op.getStatistics(), row(MaximumBefore), lanes[w]);
    }
    maxima.push_back(finiteMaximum(maximum));
    sums.push_back(sum);
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
      store(weight, op.getStrip(), key, lanes[w]);
      sums[w] = arith::AddFOp::create(builder, loc, sums[w], weight);
    }
  });
  for (int64_t w = 0; w < vectors; ++w)
    store(sums[w], op.getStatistics(), row(Sum), lanes[w]);
  return success();
}

LogicalResult TileEmitter::emit(RescaleTileOp op) {
  SmallVector<Value> factors;
  Value isOther, factorRow = index.constant(Factor);
  for (int64_t w = 0; w < vectorsOf(op.getQueries()); ++w) {
    factors.push_back(load(op.getStatistics(), factorRow, index.constant(w * target.lanes)));
    Value other = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, factors[w],
                                        constant(1)); // and of NaN
    isOther = isOther ? arith::OrIOp::create(builder, loc, isOther, other) : other;
  }
  Value isAny = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, isOther);
  bool isTurned = op.getTurned();
  int64_t vectors =
      isTurned ? factors.size() : vectorsOf(cast<MemRefType>(op.getSums().getType()).getDimSize(1));
  Value rows = isTurned ? index.dim(op.getSums(), 0) : index.constant(op.getQueries());
  choose(index, isAny, [&] {
    forLoop(index, index.constant(0), rows, 1, [&](Value row) {
      Value own = isTurned ? Value() : broadcast(op.getStatistics(), factorRow, row);
      for (int64_t w = 0; w < vectors; ++w) {
        Value column = index.constant(w * target.lanes), sum = load(op.getSums(), row, column);
        sum = arith::MulFOp::create(builder, loc, sum, own ? own : factors[w]);
        store(sum, op.getSums(), row, column);
      }
    });
  });
  return success();
}
