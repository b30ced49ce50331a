// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.quantize_row on a GPU: a sweep for the least and the greatest element, and one for the
// bytes, which are those of the CPU (compiler/cpu/rows/VectorizeQuantize.cpp).
#include "compiler/gpu/rows/Rows.h"
#include "compiler/gpu/threads/Warp.h"
#include "compiler/kernels/FloatArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

namespace {

/// Writes the code of one tile.
class QuantizeWarp : Warp {
public:
  QuantizeWarp(QuantizeRowOp op, OpBuilder &builder)
      : Warp(builder, op.getLoc()), op(op), math(builder, loc),
        columns(index.dim(op.getInput(), 0)), words(index.ceilDiv(columns, index.constant(4))),
        none(number(0)), full(number(255)) {}

  void run();

private:
  /// Words of four bytes that a lane works on at a time.
  static constexpr int64_t wordsAtOnce = 2;
  /// The columns of words `word`, + 32, ...; the row's last in the place of those that come later.
  SmallVector<Value> loadWords(Value word);
  /// The least and the greatest element of the row, which 0 is one of: it has a byte of its own.
  std::pair<Value, Value> range();
  /// Comparisons that NaN fails, so that what is converted is from 0 to 255 always.
  Value asByte(Value x) {
    x = math.select(isAbove(x, none), x, none);
    return math.select(isAbove(full, x), x, full);
  }
  void storeWords(Value word, Value inverse, Value zero);
  Value isAbove(Value a, Value b) { return math.compare(arith::CmpFPredicate::OGT, a, b); }
  Value number(double value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }

  QuantizeRowOp op;
  FloatArithmetic math;
  Value columns, words, none, full;
};

} // namespace

SmallVector<Value> QuantizeWarp::loadWords(Value word) {
  SmallVector<Value> values;
  Value last = index.sub(columns, index.constant(1));
  for (int64_t i = 0; i < 4 * wordsAtOnce; ++i) {
    Value column =
        index.add(index.mul(word, index.constant(4)), index.constant(i / 4 * 4 * lanes + i % 4));
    values.push_back(load(op.getInput(), index.min(column, last)));
  }
  return values;
}

std::pair<Value, Value> QuantizeWarp::range() {
  auto least = [&](Value a, Value b) { return math.smaller(a, b); };
  auto most = [&](Value a, Value b) { return math.larger(a, b); };
  SmallVector<Value> ends{none, none};
  ends = forEach(
      words, ends,
      [&](Value word, ValueRange ends) {
        SmallVector<Value> found(ends);
        for (Value x : loadWords(word))
          found = {least(found[0], x), most(found[1], x)};
        return found;
      },
      wordsAtOnce);
  Value low = combine(ends[0], least), high = combine(ends[1], most);
  return {low, high};
}

void QuantizeWarp::storeWords(Value word, Value inverse, Value zero) {
  auto bytes = VectorType::get({4}, builder.getI8Type());
  SmallVector<Value> elements;
  for (Value x : loadWords(word)) {
    Value byte =
        arith::FPToUIOp::create(builder, loc, builder.getI32Type(),
                                asByte(math.add(math.roundEven(math.mul(x, inverse)), zero)));
    elements.push_back(arith::TruncIOp::create(builder, loc, builder.getI8Type(), byte));
  }
  for (int64_t i = 0; i < wordsAtOnce; ++i) {
    Value own = index.add(word, index.constant(i * lanes));
    Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, own, words);
    choose(index, isThere, [&] { // rows have room for whole words
      Value four =
          vector::FromElementsOp::create(builder, loc, bytes, ArrayRef(elements).slice(4 * i, 4));
      vector::StoreOp::create(builder, loc, four, op.getOut(), index.mul(own, index.constant(4)),
                              /*nontemporal=*/false, llvm::MaybeAlign(4));
    });
  }
}

void QuantizeWarp::run() {
  auto [low, high] = range();
  Value range = math.sub(high, low);
  Value inverse = math.select(isAbove(range, none), math.div(full, range), none);
  Value zero = asByte(math.roundEven(math.neg(math.mul(low, inverse))));
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, index.constant(0));
  choose(index, isFirst, [&] {
    store(math.div(range, full), op.getRange(), index.constant(0));
    store(zero, op.getRange(), index.constant(1));
  });
  forEach(
      words, {},
      [&](Value word, ValueRange) {
        storeWords(word, inverse, zero);
        return SmallVector<Value>{};
      },
      wordsAtOnce);
}

void attn::emitWarpRow(QuantizeRowOp op, OpBuilder &builder) { QuantizeWarp(op, builder).run(); }
