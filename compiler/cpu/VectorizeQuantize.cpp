// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.quantize_row as vector code: one sweep for the least and the greatest element, one for the
// bytes. Rows may be the bits of bf16. A row with NaN or an infinity gets a scale that is NaN or
// infinite, and so do its products.
#include "compiler/cpu/MathBuilder.h"
#include "compiler/cpu/RowVectors.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

void attn::emitQuantize(QuantizeRowOp op, const RowVectors &rows) {
  const IndexBuilder &index = rows.index;
  OpBuilder &builder = index.builder;
  Location loc = op.getLoc();
  MathBuilder math(builder, loc, rows.type, rows.target);
  Value columns = index.dim(op.getInput(), 0), input = rows.prepare(op.getInput());
  auto read = [&](const VectorPlace &place) { return widened(index, rows.load(input, place)); };
  // One instruction, which may forget a NaN: `most` has it.
  auto least = [&](Value a, Value b) {
    return math.select(math.compare(arith::CmpFPredicate::OLT, a, b), a, b);
  };
  auto most = [&](Value a, Value b) -> Value {
    return arith::MaximumFOp::create(builder, loc, a, b);
  };

  // 0 is among the elements, so that it has a byte of its own.
  constexpr int64_t unroll = 4;
  SmallVector<Value> ends =
      rows.forEachVector(columns, unroll, {math.constant(0), math.constant(0)},
                         [&](const VectorPlace &place, ValueRange ends) {
                           Value x = read(place);
                           return SmallVector<Value>{least(ends[0], x), most(ends[1], x)};
                         });
  for (int64_t i = 1; i < unroll; ++i) {
    ends[0] = least(ends[0], ends[2 * i]);
    ends[1] = most(ends[1], ends[2 * i + 1]);
  }
  auto everywhere = [&](Value scalar) -> Value {
    return vector::BroadcastOp::create(builder, loc, rows.type, scalar);
  };
  Value low = everywhere(rows.acrossLanes(ends[0], least)),
        high = everywhere(rows.acrossLanes(ends[1], most));
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
  auto keep = [&](Value value, int64_t at) {
    Value first = vector::ExtractOp::create(builder, loc, value, 0);
    memref::StoreOp::create(builder, loc, first, op.getRange(), index.constant(at));
  };
  keep(scale, 0), keep(zero, 1);

  auto integers = VectorType::get(rows.type.getShape(), builder.getI32Type()),
       bytes = VectorType::get(rows.type.getShape(), builder.getI8Type());
  // The sum with 1.5 * 2^23 is rounded to a whole number, which its bits are apart from those of
  // the constant.
  constexpr double magic = 12582912.0;
  Value zeroByte = arith::FPToSIOp::create(builder, loc, integers, zero),
        shift = math.isub(zeroByte, math.bits(math.constant(magic)));
  rows.forEachVector(columns, unroll, {}, [&](const VectorPlace &place, ValueRange) {
    Value shifted = math.add(math.mul(read(place), inverse), math.constant(magic));
    Value whole = math.iadd(math.bits(shifted), shift);
    whole = arith::MaxSIOp::create(builder, loc, whole, math.integer(0));
    whole = arith::MinSIOp::create(builder, loc, whole, math.integer(255));
    Value byte = arith::TruncIOp::create(builder, loc, bytes, whole);
    rows.store(byte, op.getOut(), {place.column, {}}); // rows have room for whole vectors
    return SmallVector<Value>{};
  });
}
