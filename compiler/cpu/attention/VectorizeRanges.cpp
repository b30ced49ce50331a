// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: the least and the greatest element of a box of a tensor, which say
// whether a mask empties or fills a tile. No element counts twice, so the last vector of a row may
// overlap the one before, and the last row be read again.
#include "compiler/cpu/attention/AttentionTiles.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "compiler/transforms/MaskIntervals.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

namespace {

class RangeEmitter {
public:
  RangeEmitter(RangeTileOp op, const CpuTarget &target);
  Interval run();

private:
  Interval both(Interval a, Interval b);
  Interval loop(Value from, Value to, int64_t step, Interval initial,
                llvm::function_ref<Interval(Value, Interval)> body);
  Interval elements(size_t axis, SmallVector<Value> position);
  Interval vectorOf(Value row, Value column);
  Interval vectorOfRows(Value row, Value column);
  Interval vectors();
  bool isRange(size_t axis) const { return from[axis] != to[axis]; }

  RangeTileOp op;
  OpBuilder builder;
  Location loc;
  IndexBuilder index;
  Type element; ///< in memory
  SmallVector<Value> from, to;
  std::optional<size_t> rows; ///< the axis of the box before the last one
  int64_t width = 0;          ///< of vectors along the last one; 0 for none
};

} // namespace

RangeEmitter::RangeEmitter(RangeTileOp op, const CpuTarget &target)
    : op(op), builder(op), loc(op.getLoc()), index(builder, loc),
      element(cast<MemRefType>(op.getTensor().getType()).getElementType()) {
  auto type = cast<MemRefType>(op.getTensor().getType());
  int64_t last = type.getRank() - 1, offset;
  bool isOneRow = true;
  for (auto [axis, ends] : llvm::enumerate(llvm::zip_equal(op.getFrom(), op.getTo()))) {
    auto [begin, end] = ends;
    if (begin == end) {
      from.push_back(begin), to.push_back(end);
      continue;
    }
    Value least = index.constant(0),
          most = index.sub(index.dim(op.getTensor(), axis), index.constant(1));
    auto inside = [&](Value position) {
      return builder.createOrFold<arith::MinSIOp>(
          loc, builder.createOrFold<arith::MaxSIOp>(loc, position, least), most);
    };
    from.push_back(inside(begin)), to.push_back(inside(end));
    if (static_cast<int64_t>(axis) == last)
      continue;
    isOneRow &= !rows;
    rows = axis;
  }
  SmallVector<int64_t> strides;
  bool isVector = isOneRow && op.getFrom().back() != op.getTo().back() &&
                  succeeded(type.getStridesAndOffset(strides, offset)) && strides.back() == 1;
  constexpr int64_t bytesOfTruth = 32; // fewer than the keys of most tiles
  if (isVector && element.isInteger(8))
    width = bytesOfTruth;
  else if (isVector && (element.isF32() || element.isInteger(32)))
    width = target.lanes;
  else if (isVector && element.isInteger(64))
    width = target.lanes / 2;
}

/// The interval of both intervals together, of elements or of vectors of them.
Interval RangeEmitter::both(Interval a, Interval b) {
  auto create = [&](auto least, auto greatest) -> Interval {
    return {decltype(least)::create(builder, loc, a.lo, b.lo),
            decltype(greatest)::create(builder, loc, a.hi, b.hi)};
  };
  Type scalar = getElementTypeOrSelf(a.lo.getType());
  if (isa<FloatType>(scalar))
    return create(arith::MinimumFOp(), arith::MaximumFOp());
  if (scalar.isInteger(1))
    return create(arith::AndIOp(), arith::OrIOp());
  if (scalar.isInteger(8)) // truth values
    return create(arith::MinUIOp(), arith::MaxUIOp());
  return create(arith::MinSIOp(), arith::MaxSIOp());
}

/// for (i = from; i <= to; i += step) range = body(i, range).
Interval RangeEmitter::loop(Value from, Value to, int64_t step, Interval initial,
                            llvm::function_ref<Interval(Value, Interval)> body) {
  auto loop = scf::ForOp::create(builder, loc, from, index.add(to, index.constant(1)),
                                 index.constant(step), ValueRange{initial.lo, initial.hi});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Interval next =
      body(loop.getInductionVar(), {loop.getRegionIterArg(0), loop.getRegionIterArg(1)});
  scf::YieldOp::create(builder, loc, ValueRange{next.lo, next.hi});
  return {loop.getResult(0), loop.getResult(1)};
}

/// One by one, from an axis on.
Interval RangeEmitter::elements(size_t axis, SmallVector<Value> position) {
  if (axis == from.size()) {
    Value element = loadElement(builder, loc, op.getTensor(), position, 1);
    return {element, element};
  }
  if (!isRange(axis))
    return elements(axis + 1, position);
  Value first = loadElement(builder, loc, op.getTensor(), position, 1);
  return loop(from[axis], to[axis], 1, {first, first}, [&](Value i, Interval range) {
    position[axis] = i;
    return both(range, elements(axis + 1, position));
  });
}

Interval RangeEmitter::vectorOf(Value row, Value column) {
  SmallVector<Value> position = from;
  if (rows)
    position[*rows] = row;
  position.back() = column;
  Value elements = vector::LoadOp::create(builder, loc, VectorType::get({width}, element),
                                          op.getTensor(), position);
  return {elements, elements};
}

/// The interval of four rows, so that what is carried from step to step is needed a quarter as
/// often.
Interval RangeEmitter::vectorOfRows(Value row, Value column) {
  if (!rows)
    return vectorOf(row, column);
  auto rowAt = [&](int64_t i) {
    return vectorOf(index.min(index.add(row, index.constant(i)), to[*rows]), column);
  };
  return both(both(vectorOf(row, column), rowAt(1)), both(rowAt(2), rowAt(3)));
}

Interval RangeEmitter::vectors() {
  Value last = index.sub(to.back(), index.constant(width - 1));
  auto ofRows = [&](Value row, Interval before) {
    Interval range = loop(from.back(), last, width, before, [&](Value column, Interval range) {
      return both(range, vectorOfRows(row, column));
    });
    return both(range, vectorOfRows(row, last));
  };
  Interval first = vectorOf(rows ? from[*rows] : Value(), from.back()), all;
  all = rows ? loop(from[*rows], to[*rows], 4, first, ofRows) : ofRows({}, first);
  auto reduced = [&](vector::CombiningKind kind, Value vector) -> Value {
    return vector::ReductionOp::create(builder, loc, kind, vector);
  };
  using Kind = vector::CombiningKind;
  if (isa<FloatType>(element))
    return {reduced(Kind::MINIMUMF, all.lo), reduced(Kind::MAXIMUMF, all.hi)};
  if (!element.isInteger(8)) {
    Type type = builder.getIndexType();
    auto number = [&](Kind kind, Value vector) -> Value {
      return arith::IndexCastOp::create(builder, loc, type, reduced(kind, vector));
    };
    return {number(Kind::MINSI, all.lo), number(Kind::MAXSI, all.hi)};
  }
  auto truth = [&](Kind kind, Value vector) -> Value {
    Value byte = reduced(kind, vector),
          zero = arith::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(0));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, byte, zero);
  };
  return {truth(Kind::MINUI, all.lo), truth(Kind::MAXUI, all.hi)};
}

Interval RangeEmitter::run() {
  if (width == 0)
    return elements(0, from);
  Value count = index.sub(to.back(), from.back());
  Value isWide = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, count,
                                       index.constant(width - 1));
  auto branch = scf::IfOp::create(builder, loc, op.getResultTypes(), isWide, true);
  auto fill = [&](Block *block, llvm::function_ref<Interval()> range) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(block);
    Interval found = range();
    scf::YieldOp::create(builder, loc, ValueRange{found.lo, found.hi});
  };
  fill(branch.thenBlock(), [&] { return vectors(); });
  fill(branch.elseBlock(), [&] { return elements(0, from); });
  return {branch.getResult(0), branch.getResult(1)};
}

LogicalResult attn::vectorize(TileVectors &tile, RangeTileOp op) {
  Interval range = RangeEmitter(op, tile.target).run();
  op.getLeast().replaceAllUsesWith(range.lo);
  op.getGreatest().replaceAllUsesWith(range.hi);
  return success();
}
