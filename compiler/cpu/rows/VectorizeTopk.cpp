// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, the places of a row's largest elements: for each choice one sweep, which finds
// the first of those that come after the choice before, in the order of falling elements and
// rising places:
//   (value, place) = scf.for choice ... iter_args(inf, -1) { first of what comes after }
// Nothing is written but places, and choices are few.
#include "compiler/cpu/rows/Rows.h"
#include "compiler/cpu/vectors/RowVectors.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

/// Emits the tile of a row.
class TopkEmitter {
public:
  TopkEmitter(TopkRowOp op, const RowVectors &rows)
      : op(op), rows(rows), index(rows.index), builder(index.builder), loc(index.loc),
        nothing(repeat(number(-infinity))), beyond(repeat(i32(most))) {}

  void run();

private:
  /// Elements and their places, as vectors or as scalars.
  struct State {
    Value value, place;
  };
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  static constexpr int32_t most = std::numeric_limits<int32_t>::max();

  /// The first of what comes after `last`.
  State next(const State &last);
  /// The vector at a place of the row, NaN being -inf.
  State load(Value input, const RowPlace &place);
  /// Whether `a` comes before `b`.
  Value isBefore(const State &a, const State &b);
  State select(Value condition, const State &a, const State &b) {
    return {arith::SelectOp::create(builder, loc, condition, a.value, b.value),
            arith::SelectOp::create(builder, loc, condition, a.place, b.place)};
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value number(float value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value i32(int32_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  }
  Value repeat(Value scalar) { return rows.repeat(scalar); }

  TopkRowOp op;
  const RowVectors &rows;
  IndexBuilder index;
  OpBuilder &builder;
  Location loc;
  Value nothing, beyond; ///< what no lane has found yet
};

} // namespace

Value TopkEmitter::isBefore(const State &a, const State &b) {
  Value isEarlier =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a.place, b.place);
  Value isSame = arith::AndIOp::create(
      builder, loc, compare(arith::CmpFPredicate::OEQ, a.value, b.value), isEarlier);
  return arith::OrIOp::create(builder, loc, compare(arith::CmpFPredicate::OGT, a.value, b.value),
                              isSame);
}

TopkEmitter::State TopkEmitter::load(Value input, const RowPlace &place) {
  Value x = rows.load(input, place, nothing);
  Value isNan = compare(arith::CmpFPredicate::UNO, x, x);
  return {arith::SelectOp::create(builder, loc, isNan, nothing, x), rows.columnsAt(place)};
}

TopkEmitter::State TopkEmitter::next(const State &last) {
  Value columns = index.dim(op.getInput(), 0), input = rows.prepare(op.getInput());
  State before{repeat(last.value), repeat(last.place)};
  auto step = [&](const RowPlace &place, ValueRange found) {
    State x = load(input, place), best{found[0], found[1]};
    Value isNext = arith::AndIOp::create(builder, loc, isBefore(before, x), isBefore(x, best));
    if (place.mask)
      isNext = arith::AndIOp::create(builder, loc, isNext, place.mask);
    best = select(isNext, x, best);
    return RowFold::State{best.value, best.place};
  };
  auto join = [&](ValueRange a, ValueRange b) {
    State best{a[0], a[1]}, other{b[0], b[1]};
    best = select(isBefore(other, best), other, best);
    return RowFold::State{best.value, best.place};
  };
  RowFold::State found = rows.fold(columns, 2, RowFold{{nothing, beyond}, step, join});
  State best{found[0], found[1]};
  Value value = rows.acrossLanes(best.value, [&](Value a, Value b) -> Value {
    return arith::MaximumFOp::create(builder, loc, a, b);
  });
  Value isLargest = compare(arith::CmpFPredicate::OEQ, best.value, repeat(value));
  Value candidates = arith::SelectOp::create(builder, loc, isLargest, best.place, beyond);
  return {value, rows.acrossLanes(candidates, [&](Value a, Value b) -> Value {
            return arith::MinSIOp::create(builder, loc, a, b);
          })};
}

void TopkEmitter::run() {
  Value count = index.dim(op.getOut(), 0);
  scf::ForOp::create(builder, loc, index.constant(0), count, index.constant(1),
                     ValueRange{number(infinity), i32(-1)},
                     [&](OpBuilder &, Location, Value choice, ValueRange last) {
                       State found = next({last[0], last[1]});
                       memref::StoreOp::create(builder, loc, found.place, op.getOut(), choice);
                       scf::YieldOp::create(builder, loc, ValueRange{found.value, found.place});
                     });
}

void attn::emitTopk(TopkRowOp op, const RowVectors &rows) { TopkEmitter(op, rows).run(); }
