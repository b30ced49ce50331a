// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on rows: norms, element-wise functions, reductions, lookups, rotary. A warp has rows, or
// pieces of rows where those are few, and its lanes neighbouring columns.
#include "compiler/gpu/rows/Rows.h"
#include "compiler/gpu/threads/Warp.h"
#include "compiler/kernels/NormRow.h"
#include "compiler/kernels/TileRows.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

namespace {

/// Writes the code of one row's tile before it.
class RowWarp : Warp {
public:
  RowWarp(Operation *tile, OpBuilder &builder) : Warp(builder, tile->getLoc()) {}

  void emit(NormRowOp op);
  void emit(MapRowOp op);
  void emit(RotaryRowOp op);
  void emit(QuantizeRowOp op);

private:
  /// From an element to the normalised one.
  using Normalise = std::function<Value(Value)>;
  Normalise layerNorm(NormRowOp op);
  Normalise rmsNorm(NormRowOp op);
  /// 1 / sqrt(variance + eps)
  Value inverseRoot(Value variance, NormRowOp op);

  /// Words of four bytes that a lane works on at a time.
  static constexpr int64_t wordsAtOnce = 2;
  /// The columns of words `word`, + 32, ...; the row's last in the place of those that come later.
  SmallVector<Value> loadWords(Value row, Value columns, Value word);

  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, loc, a, b, c); }
  Value number(double value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value asFloat(Value count) {
    Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), count);
    return arith::SIToFPOp::create(builder, loc, builder.getF32Type(), wide);
  }
};

} // namespace

// As on the CPU (compiler/cpu/rows/VectorizeRows.cpp says why): the mean but for rounding, then
// what rounding left, and the variance of what is small beside the mean.
RowWarp::Normalise RowWarp::layerNorm(NormRowOp op) {
  Value columns = index.dim(op.getInput(), 0), count = asFloat(columns), none = number(0);
  Value shift = load(op.getInput(), index.constant(0));
  Value shifted = forEach(columns, none, [&](Value column, ValueRange sum) {
    return SmallVector<Value>{add(sum[0], sub(load(op.getInput(), column), shift))};
  })[0];
  Value mean = add(shift, div(sum(shifted), count));

  SmallVector<Value> sums = forEach(columns, {none, none}, [&](Value column, ValueRange sums) {
    Value c = sub(load(op.getInput(), column), mean);
    return SmallVector<Value>{add(sums[0], c), fma(c, c, sums[1])};
  });
  Value rest = div(sum(sums[0]), count), squares = div(sum(sums[1]), count);
  Value variance = arith::MaximumFOp::create(builder, loc, none, sub(squares, mul(rest, rest)));
  Value scale = inverseRoot(variance, op);
  Value offset = arith::NegFOp::create(builder, loc, mul(rest, scale));
  return [=](Value x) { return fma(sub(x, mean), scale, offset); };
}

RowWarp::Normalise RowWarp::rmsNorm(NormRowOp op) {
  Value columns = index.dim(op.getInput(), 0);
  Value squares = forEach(columns, number(0), [&](Value column, ValueRange sum) {
    Value x = load(op.getInput(), column);
    return SmallVector<Value>{fma(x, x, sum[0])};
  })[0];
  Value scale = inverseRoot(div(sum(squares), asFloat(columns)), op);
  return [=](Value x) { return mul(x, scale); };
}

Value RowWarp::inverseRoot(Value variance, NormRowOp op) {
  Value eps = number(op.getNorm().eps());
  return div(number(1), math::SqrtOp::create(builder, loc, add(variance, eps)));
}

void RowWarp::emit(NormRowOp op) {
  Normalise normalise = op.getNorm().getKind() == NormKind::Layer ? layerNorm(op) : rmsNorm(op);
  forEach(index.dim(op.getInput(), 0), [&](Value column) {
    Value y = scaleAndShift(builder, op, normalise(load(op.getInput(), column)),
                            [&](Value row) { return load(row, column); });
    store(y, op.getOut(), column);
  });
}

void RowWarp::emit(MapRowOp op) {
  forEach(index.dim(op.getOut(), 0), [&](Value column) {
    SmallVector<Value> elements;
    for (Value input : op.getInputs())
      elements.push_back(memref::LoadOp::create(builder, loc, input, column));
    Value result = inlineHook(builder, op.getBody(), elements, {}, {});
    memref::StoreOp::create(builder, loc, result, op.getOut(), column);
  });
}

void RowWarp::emit(RotaryRowOp op) {
  Value pairs = index.dim(op.getCos(), 0), two = index.constant(2), one = index.constant(1);
  forEach(pairs, [&](Value pair) {
    Value first = op.getInterleaved() ? index.mul(pair, two) : pair,
          second = index.add(first, op.getInterleaved() ? one : pairs);
    Value a = load(op.getInput(), first), b = load(op.getInput(), second);
    Value cos = load(op.getCos(), pair), sin = load(op.getSin(), pair);
    Value negated = arith::NegFOp::create(builder, loc, mul(b, sin));
    store(fma(a, cos, negated), op.getOut(), first);
    store(fma(b, cos, mul(a, sin)), op.getOut(), second);
  });
  Value turned = index.mul(pairs, two);
  int64_t all = cast<MemRefType>(op.getOut().getType()).getDimSize(0);
  if (2 * cast<MemRefType>(op.getCos().getType()).getDimSize(0) == all)
    return;
  forEach(index.sub(index.constant(all), turned), [&](Value other) {
    Value column = index.add(turned, other);
    store(load(op.getInput(), column), op.getOut(), column);
  });
}

SmallVector<Value> RowWarp::loadWords(Value row, Value columns, Value word) {
  SmallVector<Value> values;
  Value last = index.sub(columns, index.constant(1));
  for (int64_t i = 0; i < 4 * wordsAtOnce; ++i) {
    Value column =
        index.add(index.mul(word, index.constant(4)), index.constant(i / 4 * 4 * lanes + i % 4));
    values.push_back(load(row, index.min(column, last)));
  }
  return values;
}

// As on the CPU (compiler/cpu/rows/VectorizeQuantize.cpp), to the bit.
void RowWarp::emit(QuantizeRowOp op) {
  Value columns = index.dim(op.getInput(), 0), none = number(0), full = number(255);
  Value words = index.ceilDiv(columns, index.constant(4));
  auto least = [&](Value a, Value b) -> Value {
    return arith::MinimumFOp::create(builder, loc, a, b);
  };
  auto most = [&](Value a, Value b) -> Value {
    return arith::MaximumFOp::create(builder, loc, a, b);
  };
  auto isAbove = [&](Value a, Value b) -> Value {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
  };
  auto select = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  };
  auto rounded = [&](Value x) -> Value { return math::RoundEvenOp::create(builder, loc, x); };
  // 0 is among the elements, so that it has a byte of its own.
  SmallVector<Value> ends{none, none};
  ends = forEach(
      words, ends,
      [&](Value word, ValueRange ends) {
        SmallVector<Value> found(ends);
        for (Value x : loadWords(op.getInput(), columns, word))
          found = {least(found[0], x), most(found[1], x)};
        return found;
      },
      wordsAtOnce);
  Value low = combine(ends[0], least), high = combine(ends[1], most), range = sub(high, low);
  Value inverse = select(isAbove(range, none), div(full, range), none);
  // Comparisons that NaN fails, so that what is converted is from 0 to 255 always.
  auto asByte = [&](Value x) {
    x = select(isAbove(x, none), x, none);
    return select(isAbove(full, x), x, full);
  };
  Value zero = asByte(rounded(arith::NegFOp::create(builder, loc, mul(low, inverse))));
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, index.constant(0));
  choose(index, isFirst, [&] {
    store(div(range, full), op.getRange(), index.constant(0));
    store(zero, op.getRange(), index.constant(1));
  });
  auto bytes = VectorType::get({4}, builder.getI8Type());
  forEach(
      words, {},
      [&](Value word, ValueRange) {
        SmallVector<Value> elements;
        for (Value x : loadWords(op.getInput(), columns, word)) {
          Value byte = arith::FPToUIOp::create(builder, loc, builder.getI32Type(),
                                               asByte(add(rounded(mul(x, inverse)), zero)));
          elements.push_back(arith::TruncIOp::create(builder, loc, builder.getI8Type(), byte));
        }
        for (int64_t i = 0; i < wordsAtOnce; ++i) {
          Value own = index.add(word, index.constant(i * lanes));
          Value isThere =
              arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, own, words);
          choose(index, isThere, [&] { // rows have room for whole words
            Value four = vector::FromElementsOp::create(builder, loc, bytes,
                                                        ArrayRef(elements).slice(4 * i, 4));
            vector::StoreOp::create(builder, loc, four, op.getOut(),
                                    index.mul(own, index.constant(4)), /*nontemporal=*/false,
                                    llvm::MaybeAlign(4));
          });
        }
        return SmallVector<Value>{};
      },
      wordsAtOnce);
}

static LogicalResult emitRows(Operation *kernel, const TilingContext &workers, ValueRange) {
  if (auto group = dyn_cast<GroupKernelOp>(kernel)) {
    emitWarpGroup(group, workers);
    return success();
  }
  // Four of its vectors, the piece of a reduction, are a warp's columns.
  static constexpr VectorUnit warp{/*lanes=*/Warp::lanes / 4};
  tileRows(kernel, TilingContext{warp, workers.thread, workers.threads, workers.interleaves});
  SmallVector<RowTileOpInterface> tiles;
  kernel->getParentOp()->walk([&](RowTileOpInterface tile) { tiles.push_back(tile); });
  for (RowTileOpInterface tile : tiles) {
    OpBuilder builder(tile);
    RowWarp warp(tile, builder);
    llvm::TypeSwitch<Operation *>(tile)
        .Case<ReduceRowOp, SoftmaxRowOp, TopkRowOp>([&](auto op) { emitWarpRow(op, builder); })
        .Case<NormRowOp, MapRowOp, RotaryRowOp, QuantizeRowOp>([&](auto op) { warp.emit(op); });
    tile->erase();
  }
  return success();
}

KernelLaunches attn::launchesOfRows(Operation *kernel) {
  if (isa<RoundKernelOp>(kernel)) // rows are rounded where they are multiplied
    return SmallVector<KernelLaunch>{};
  KernelLaunch launch;
  launch.workers = WorkerKind::Warp;
  launch.emit = emitRows;
  return SmallVector<KernelLaunch>{launch};
}
