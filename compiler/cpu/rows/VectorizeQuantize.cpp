// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.quantize_row as vector code: one sweep for the least and the greatest element, one for the
// bytes, and where they are wanted, one for the sums of each 32. A row with NaN or an infinity gets
// a scale that is NaN or infinite, and so do its products. The bits of bf16 take twice as many
// lanes where they need not be floats, with the same results.
#include "compiler/cpu/rows/Rows.h"
#include "compiler/cpu/vectors/BfloatPairs.h"
#include "compiler/kernels/MathBuilder.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

namespace {

class QuantizeEmitter {
public:
  QuantizeEmitter(QuantizeRowOp op, const RowVectors &rows)
      : op(op), rows(rows), index(rows.index), builder(index.builder), loc(op.getLoc()),
        math(builder, loc, rows.type, rows.target), columns(index.dim(op.getInput(), 0)),
        input(rows.prepare(op.getInput())), least(rows.target.signedBytes ? -128 : 0),
        halvesTarget(rows.target), halves(builder, loc, halvesTarget) {
    halvesTarget.lanes *= 2;
  }

  void run();

private:
  using Combine = llvm::function_ref<Value(Value, Value)>;

  /// In all lanes; 0 is among the elements, so that it has a byte of its own.
  struct Range {
    Value low, high;
  };
  Range range();
  Range rangeOfHalves();
  /// The least and the greatest of `none` and what `read` gives, scalars.
  std::pair<Value, Value> ends(const RowVectors &rows, Value none,
                               llvm::function_ref<Value(const RowPlace &)> read, Combine least,
                               Combine most);
  /// `zero` is the byte of 0, a float.
  void store(Value inverse, Value zero);
  void storeFromHalves(Value inverse, Value zero);
  /// The sums of each 32 bytes, behind scale and zero.
  void storeSums();
  void prefetchNextRow(const RowVectors &rows, const RowPlace &place) {
    if (!op.getAlone())
      rows.prefetchNextRow(op.getInput(), columns, place);
  }
  /// The whole number next to x * inverse, in the lower bits of an integer (the lower 16 at least).
  Value whole(Value x, Value inverse) {
    return math.bits(math.add(math.mul(x, inverse), math.constant(magic)));
  }
  /// Integers as bytes, those beyond them as the nearest.
  void storeBytes(Value integers, const RowVectors &rows, const RowPlace &place);
  Value halvesOf(int64_t value) {
    auto type = VectorType::get({halvesTarget.lanes}, builder.getI16Type());
    return arith::ConstantOp::create(
        builder, loc, SplatElementsAttr::get(type, builder.getI16IntegerAttr(value)));
  }

  /// A sum with 1.5 * 2^23 is rounded to a whole number, which its bits are apart from those of the
  /// constant.
  static constexpr double magic = 12582912.0;
  static constexpr int64_t unroll = 4;

  QuantizeRowOp op;
  const RowVectors &rows;
  const IndexBuilder &index;
  OpBuilder &builder;
  Location loc;
  MathBuilder math;
  Value columns, input;
  int64_t least; ///< of a byte
  CpuTarget halvesTarget;
  RowVectors halves; ///< of 16 bits
};

} // namespace

std::pair<Value, Value> QuantizeEmitter::ends(const RowVectors &rows, Value none,
                                              llvm::function_ref<Value(const RowPlace &)> read,
                                              Combine least, Combine most) {
  auto step = [&](const RowPlace &place, ValueRange ends) {
    Value x = read(place);
    return RowFold::State{least(ends[0], x), most(ends[1], x)};
  };
  auto join = [&](ValueRange a, ValueRange b) {
    return RowFold::State{least(a[0], b[0]), most(a[1], b[1])};
  };
  RowFold::State ends = rows.fold(columns, unroll, RowFold{{none, none}, step, join});
  return {rows.acrossLanes(ends[0], least), rows.acrossLanes(ends[1], most)};
}

QuantizeEmitter::Range QuantizeEmitter::range() {
  // One instruction, which may forget a NaN: `most` has it.
  auto least = [&](Value a, Value b) {
    return math.select(math.compare(arith::CmpFPredicate::OLT, a, b), a, b);
  };
  auto most = [&](Value a, Value b) -> Value {
    return arith::MaximumFOp::create(builder, loc, a, b);
  };
  auto read = [&](const RowPlace &place) { return rows.loadFloats(input, place); };
  auto [low, high] = ends(rows, math.constant(0), read, least, most);
  return {vector::BroadcastOp::create(builder, loc, rows.type, low),
          vector::BroadcastOp::create(builder, loc, rows.type, high)};
}

// Integers in the order of the floats: of negative ones all bits but the sign are turned. NaN is
// beyond the infinity of its sign.
QuantizeEmitter::Range QuantizeEmitter::rangeOfHalves() {
  Value sign = halvesOf(15), others = halvesOf(0x7fff);
  auto ordered = [&](Value bits) -> Value {
    Value turned = arith::AndIOp::create(builder, loc,
                                         arith::ShRSIOp::create(builder, loc, bits, sign), others);
    return arith::XOrIOp::create(builder, loc, bits, turned);
  };
  auto least = [&](Value a, Value b) -> Value {
    return arith::MinSIOp::create(builder, loc, a, b);
  };
  auto most = [&](Value a, Value b) -> Value { return arith::MaxSIOp::create(builder, loc, a, b); };
  auto read = [&](const RowPlace &place) { return ordered(halves.load(input, place)); };
  auto [low, high] = ends(halves, halvesOf(0), read, least, most);
  auto everywhere = [&](Value scalar) {
    Value bits = ordered(vector::BroadcastOp::create(builder, loc, sign.getType(), scalar));
    return BfloatPairs(builder, loc, rows.target).even(bits);
  };
  return {everywhere(low), everywhere(high)};
}

void QuantizeEmitter::storeBytes(Value integers, const RowVectors &rows, const RowPlace &place) {
  auto type = cast<VectorType>(integers.getType());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        builder, loc,
        SplatElementsAttr::get(type, builder.getIntegerAttr(type.getElementType(), value)));
  };
  integers = arith::MaxSIOp::create(builder, loc, integers, constant(least));
  integers = arith::MinSIOp::create(builder, loc, integers, constant(least + 255));
  Value bytes = arith::TruncIOp::create(builder, loc, type.clone(builder.getI8Type()), integers);
  rows.store(bytes, op.getOut(), {place.column, {}}); // rows have room for whole vectors
}

void QuantizeEmitter::store(Value inverse, Value zero) {
  Value zeroByte = arith::FPToSIOp::create(builder, loc, math.integers, zero),
        shift = math.isub(zeroByte, math.bits(math.constant(magic)));
  rows.forEach(columns, unroll, [&](const RowPlace &place) {
    prefetchNextRow(rows, place);
    Value x = rows.loadFloats(input, place);
    storeBytes(math.iadd(whole(x, inverse), shift), rows, place);
  });
}

void QuantizeEmitter::storeFromHalves(Value inverse, Value zero) {
  BfloatPairs pairs(builder, loc, rows.target);
  auto inHalves = [&](Value even, Value odd) -> Value {
    Value both = math.ior(math.iand(even, math.integer(0xffff)), math.shiftLeft(odd, 16));
    return vector::BitCastOp::create(builder, loc, halvesOf(0).getType(), both);
  };
  Value zeroByte = arith::FPToSIOp::create(builder, loc, math.integers, zero);
  zeroByte = inHalves(zeroByte, zeroByte);
  halves.forEach(columns, unroll, [&](const RowPlace &place) {
    prefetchNextRow(halves, place);
    Value words = halves.load(input, place);
    Value both = inHalves(whole(pairs.even(words), inverse), whole(pairs.odd(words), inverse));
    storeBytes(arith::AddIOp::create(builder, loc, both, zeroByte), halves, place);
  });
}

void QuantizeEmitter::storeSums() {
  constexpr int64_t count = 32;
  int64_t sums = cast<MemRefType>(op.getRange().getType()).getDimSize(0) - 2;
  Type i32 = builder.getI32Type();
  forLoop(index, index.constant(0), index.constant(sums), 1, [&](Value number) {
    Value bytes =
        vector::LoadOp::create(builder, loc, VectorType::get({count}, builder.getI8Type()),
                               op.getOut(), index.mul(number, index.constant(count)));
    auto type = VectorType::get({count}, i32);
    Value wide = least < 0 ? Value(arith::ExtSIOp::create(builder, loc, type, bytes))
                           : Value(arith::ExtUIOp::create(builder, loc, type, bytes));
    Value sum = vector::ReductionOp::create(builder, loc, vector::CombiningKind::ADD, wide);
    memref::StoreOp::create(builder, loc,
                            arith::SIToFPOp::create(builder, loc, builder.getF32Type(), sum),
                            op.getRange(), index.add(number, index.constant(2)));
  });
}

void QuantizeEmitter::run() {
  bool isHalves = cast<MemRefType>(op.getInput().getType()).getElementType().isInteger(16);
  auto [low, high] = isHalves ? rangeOfHalves() : range();
  Value range = math.sub(high, low);
  Value scale = math.div(range, math.constant(255));
  Value isWide = math.compare(arith::CmpFPredicate::OGT, range, math.constant(0));
  Value inverse = math.select(isWide, math.div(math.constant(255), range), math.constant(0));
  // Comparisons that NaN fails, so that it is from 0 to 255 always.
  Value zero = math.roundEven(math.neg(math.mul(low, inverse)));
  Value isAbove = math.compare(arith::CmpFPredicate::OGT, zero, math.constant(0));
  zero = math.select(isAbove, zero, math.constant(0));
  Value isBelow = math.compare(arith::CmpFPredicate::OLT, zero, math.constant(255));
  zero = math.select(isBelow, zero, math.constant(255));
  if (least != 0)
    zero = math.add(zero, math.constant(double(least)));
  auto keep = [&](Value value, int64_t at) {
    Value first = vector::ExtractOp::create(builder, loc, value, 0);
    memref::StoreOp::create(builder, loc, first, op.getRange(), index.constant(at));
  };
  keep(scale, 0), keep(zero, 1);
  if (isHalves)
    storeFromHalves(inverse, zero);
  else
    store(inverse, zero);
  storeSums();
}

void attn::emitQuantize(QuantizeRowOp op, const RowVectors &rows) {
  QuantizeEmitter(op, rows).run();
}
