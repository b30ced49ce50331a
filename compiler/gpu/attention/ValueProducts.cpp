// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of weights and a tile of values to sums, by mma or, behind a mask, key by key.
#include "compiler/gpu/attention/ValueProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <array>

using namespace mlir;
using namespace attn;

void ValueProducts::multiply(ArrayRef<SmallVector<Value>> weights,
                             MutableArrayRef<Value> sums) const {
  forMatrices(tile.rows / 8, [&](int64_t from, int64_t count) {
    for (int64_t chunk = 0; chunk < tile.chunks(); ++chunk) {
      SmallVector<Value> words = tile.columnWords(from * 8, chunk, count);
      for (int64_t m = 0; m < count; m += 2)
        cores.multiply(sums.slice(4 * chunk, 4), weights[(from + m) / 2],
                       ArrayRef(words).slice(m, std::min<int64_t>(2, count - m)));
    }
  });
}

Value ValueProducts::areFinite() const {
  OpBuilder &builder = cores.builder;
  Location loc = cores.loc;
  const IndexBuilder &index = cores.index;
  Value lastRow = index.constant(tile.rows - 1), zero = cores.integer(0);
  auto loop =
      scf::ForOp::create(builder, loc, index.constant(0), index.constant(tile.chunks()),
                         index.constant(1), zero, [](OpBuilder &, Location, Value, ValueRange) {});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value found = loop.getRegionIterArg(0);
    for (int64_t first = 0; first < tile.rows; first += 32) {
      Value row = index.min(index.add(cores.lane, index.constant(first)), lastRow);
      for (Value word : tile.chunkWords(row, loop.getInductionVar()))
        found = arith::OrIOp::create(builder, loc, found, cores.specials(word));
    }
    scf::YieldOp::create(builder, loc, found);
  }
  Value isSpecial = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                          cores.bits(loop.getResult(0), cores.specialBits), zero);
  return arith::XOrIOp::create(builder, loc, cores.any(isSpecial), index.truth(true));
}

/// Key by key on FMA units: slow, and seldom.
void ValueProducts::multiplyLive(ArrayRef<SmallVector<Value>> weights,
                                 MutableArrayRef<Value> sums) const {
  OpBuilder &builder = cores.builder;
  Location loc = cores.loc;
  const IndexBuilder &index = cores.index;
  auto select = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  };
  auto loop = scf::ForOp::create(builder, loc, index.constant(0), index.constant(tile.rows),
                                 index.constant(1), SmallVector<Value>(sums),
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  Value row = loop.getInductionVar(), eight = index.constant(8), two = index.constant(2);
  Value rowsTile = index.div(row, eight), isOdd = cores.isEqual(index.rem(row, two), 1);
  Value source =
      index.add(index.mul(cores.g, index.constant(4)), index.div(index.rem(row, eight), two));
  std::array<Value, 2> own, isLive;
  for (int64_t r = 0; r < 2; ++r) {
    Value word = weights[0][r];
    for (int64_t i = 1; i < tile.rows / 8; ++i)
      word = select(cores.isEqual(rowsTile, i), weights[i / 2][i % 2 * 2 + r], word);
    word = cores.fromLane(word, source);
    own[r] = select(isOdd, cores.odd(word), cores.even(word));
    isLive[r] =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, own[r], cores.number(0));
  }
  SmallVector<Value> next(loop.getRegionIterArgs());
  for (int64_t chunk = 0; chunk < tile.chunks(); ++chunk) {
    Value pair = tile.pairWord(row, chunk);
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t c = 0; c < 2; ++c) {
        Value &sum = next[4 * chunk + 2 * r + c];
        Value value = c == 0 ? cores.even(pair) : cores.odd(pair);
        Value added = math::FmaOp::create(builder, loc, own[r], value, sum);
        sum = select(isLive[r], added, sum);
      }
  }
  scf::YieldOp::create(builder, loc, next);
  llvm::copy(loop.getResults(), sums.begin());
}
