// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bounds of a box of a tensor, which masks of tiles are judged by: the lanes of a warp have
// neighbours along its last axis, and what all have seen is combined.
#include "compiler/gpu/attention/Attention.h"
#include "compiler/gpu/threads/Warp.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

class RangeWarp : Warp {
public:
  RangeWarp(RangeTileOp op, OpBuilder &builder) : Warp(builder, op.getLoc()), op(op) {}

  void run();

private:
  /// The larger or smaller one; NaN of NaN.
  Value least(Value a, Value b);
  Value greatest(Value a, Value b);
  /// The bound of no element.
  Value none(bool isLeast);
  Value acrossLanes(Value value, llvm::function_ref<Value(Value, Value)> combine);
  SmallVector<Value> over(size_t axis, SmallVector<Value> place, ValueRange bounds);

  RangeTileOp op;
};

} // namespace

Value RangeWarp::least(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::MinimumFOp::create(builder, loc, a, b);
  if (a.getType().isInteger(1))
    return arith::AndIOp::create(builder, loc, a, b);
  return arith::MinSIOp::create(builder, loc, a, b);
}

Value RangeWarp::greatest(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::MaximumFOp::create(builder, loc, a, b);
  if (a.getType().isInteger(1))
    return arith::OrIOp::create(builder, loc, a, b);
  return arith::MaxSIOp::create(builder, loc, a, b);
}

Value RangeWarp::none(bool isLeast) {
  Type type = op.getLeast().getType();
  if (type.isInteger(1))
    return index.truth(isLeast);
  if (type.isIndex())
    return index.constant(isLeast ? std::numeric_limits<int64_t>::max()
                                  : std::numeric_limits<int64_t>::min());
  float inf = std::numeric_limits<float>::infinity();
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(isLeast ? inf : -inf));
}

/// Lanes hand on 32 bits at a time.
Value RangeWarp::acrossLanes(Value value, llvm::function_ref<Value(Value, Value)> combine) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto shuffled = [&](Value word, int32_t distance) -> Value {
    return gpu::ShuffleOp::create(builder, loc, word, distance, lanes, gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  for (int32_t distance = lanes / 2; distance > 0; distance /= 2) {
    Value other;
    if (value.getType().isIndex()) {
      Value shift = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
      Value wide = arith::IndexCastOp::create(builder, loc, i64, value);
      Value high = arith::ShRUIOp::create(builder, loc, wide, shift);
      auto half = [&](Value bits) -> Value {
        Value word = shuffled(arith::TruncIOp::create(builder, loc, i32, bits), distance);
        return arith::ExtUIOp::create(builder, loc, i64, word);
      };
      Value low = half(wide);
      Value whole = arith::OrIOp::create(builder, loc, low,
                                         arith::ShLIOp::create(builder, loc, half(high), shift));
      other = arith::IndexCastOp::create(builder, loc, value.getType(), whole);
    } else if (value.getType().isInteger(1)) {
      Value word = shuffled(arith::ExtUIOp::create(builder, loc, i32, value), distance);
      other = arith::TruncIOp::create(builder, loc, value.getType(), word);
    } else {
      other = shuffled(value, distance);
    }
    value = combine(value, other);
  }
  return value;
}

/// Bounds of the elements at `place` and what of the box follows.
SmallVector<Value> RangeWarp::over(size_t axis, SmallVector<Value> place, ValueRange bounds) {
  size_t rank = op.getFrom().size(), last = rank;
  for (size_t i = 0; i < rank; ++i)
    if (op.getFrom()[i] != op.getTo()[i])
      last = i;
  if (axis == rank) {
    Value element = loadElement(builder, loc, op.getTensor(), place, 1);
    return {least(bounds[0], element), greatest(bounds[1], element)};
  }
  if (op.getFrom()[axis] == op.getTo()[axis]) {
    place.push_back(op.getFrom()[axis]);
    return over(axis + 1, place, bounds);
  }
  Value zero = index.constant(0), one = index.constant(1);
  Value end = arith::MinSIOp::create(builder, loc, index.add(op.getTo()[axis], one),
                                     index.dim(op.getTensor(), static_cast<int64_t>(axis)));
  Value from = arith::MaxSIOp::create(builder, loc, op.getFrom()[axis], zero);
  bool isLast = axis == last;
  auto loop = scf::ForOp::create(builder, loc, isLast ? index.add(from, lane) : from, end,
                                 isLast ? index.constant(lanes) : one, bounds,
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  place.push_back(loop.getInductionVar());
  scf::YieldOp::create(builder, loc, over(axis + 1, place, loop.getRegionIterArgs()));
  return loop.getResults();
}

void RangeWarp::run() {
  SmallVector<Value> bounds = over(0, {}, {none(true), none(false)});
  auto smaller = [&](Value a, Value b) { return least(a, b); };
  auto larger = [&](Value a, Value b) { return greatest(a, b); };
  op.getLeast().replaceAllUsesWith(acrossLanes(bounds[0], smaller));
  op.getGreatest().replaceAllUsesWith(acrossLanes(bounds[1], larger));
}

void attn::lowerRanges(Operation *root) {
  SmallVector<RangeTileOp> ranges;
  root->walk([&](RangeTileOp op) { ranges.push_back(op); });
  for (RangeTileOp op : ranges) {
    OpBuilder builder(op);
    RangeWarp(op, builder).run();
    op.erase();
  }
}
