// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions and softmax of a row on a GPU. A lane has columns and goes through what is reduced; or
// the lanes divide the last axis that is reduced, and combine what they found. Numbers are those of
// the CPU but for the order of sums (compiler/cpu/rows/VectorizeReduce.cpp).
#include "compiler/gpu/rows/Rows.h"
#include "compiler/gpu/threads/Warp.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

/// Emits the tile of a row.
class ReduceWarp : Warp {
public:
  ReduceWarp(ReduceRowOp op, OpBuilder &builder)
      : Warp(builder, op.getLoc()), op(op), kind(op.getKind()),
        rank(cast<MemRefType>(op.getInputs()[0].getType()).getRank()) {}

  void run() { op.getAcross() ? acrossLanes() : byColumns(); }

private:
  /// A value, and of argmax its place.
  using State = SmallVector<Value>;

  void byColumns();
  void acrossLanes();
  State forElements(Value from, Value to, int64_t step, ValueRange state,
                    llvm::function_ref<State(Value, ValueRange)> body);
  /// What is reduced, at a place of all inputs.
  Value element(ValueRange place);
  State first();
  State combined(ValueRange state, Value element, Value at);
  Value combine(Value a, Value b);
  Value finished(Value value);
  bool isSum() const { return kind == Reduction::Sum || kind == Reduction::Mean; }
  bool hasPlace() const { return kind == Reduction::ArgMax; }
  Value count() { return index.product(op.getInputs()[0], 0, rank - (op.getAcross() ? 0 : 1)); }
  Value asI32(Value number) {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), number);
  }
  Value i32(int32_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  }

  ReduceRowOp op;
  Reduction kind;
  int64_t rank;
};

} // namespace

Value ReduceWarp::combine(Value a, Value b) {
  if (isSum())
    return arith::AddFOp::create(builder, loc, a, b);
  if (kind == Reduction::Min)
    return arith::MinimumFOp::create(builder, loc, a, b);
  return arith::MaximumFOp::create(builder, loc, a, b);
}

ReduceWarp::State ReduceWarp::first() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float value = isSum() ? 0 : kind == Reduction::Min ? infinity : -infinity;
  State state{arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value))};
  if (hasPlace())
    state.push_back(i32(0));
  return state;
}

ReduceWarp::State ReduceWarp::combined(ValueRange state, Value element, Value at) {
  if (!hasPlace())
    return {combine(state[0], element)};
  Value isLarger =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, element, state[0]);
  return {arith::SelectOp::create(builder, loc, isLarger, element, state[0]),
          arith::SelectOp::create(builder, loc, isLarger, at, state[1])};
}

Value ReduceWarp::element(ValueRange place) {
  SmallVector<Value> loaded;
  for (Value input : op.getInputs())
    loaded.push_back(load(input, place));
  return op.getBody().empty() ? loaded[0] : inlineHook(builder, op.getBody(), loaded, {}, {});
}

Value ReduceWarp::finished(Value value) {
  if (kind != Reduction::Mean)
    return value;
  Value size = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), count());
  Value number = arith::SIToFPOp::create(builder, loc, builder.getF32Type(), size);
  return arith::DivFOp::create(builder, loc, value, number);
}

ReduceWarp::State ReduceWarp::forElements(Value from, Value to, int64_t step, ValueRange state,
                                          llvm::function_ref<State(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, loc, from, to, index.constant(step), state,
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  State next = body(loop.getInductionVar(), ValueRange(loop.getRegionIterArgs()));
  scf::YieldOp::create(builder, loc, next);
  return loop.getResults();
}

// Sums of 16 elements are added up: rounding grows with the square root of their number at most.
void ReduceWarp::byColumns() {
  constexpr int64_t block = 16;
  Value shape = op.getInputs()[0], height = count(), none = index.constant(0);
  forEach(index.dim(op.getOut(), 0), [&](Value column) {
    auto add = [&](Value s, ValueRange state) {
      SmallVector<Value> place = index.delinearize(s, shape, 0, rank - 1);
      place.push_back(column);
      return combined(state, element(place), hasPlace() ? asI32(s) : Value());
    };
    State state = first();
    if (!isSum())
      state = forElements(none, height, 1, state, add);
    else
      state = forElements(none, height, block, state, [&](Value from, ValueRange sum) {
        Value to = index.min(height, index.add(from, index.constant(block)));
        return State{combine(sum[0], forElements(from, to, 1, first(), add)[0])};
      });
    if (hasPlace())
      memref::StoreOp::create(builder, loc, state[1], op.getOut(), column);
    else
      store(finished(state[0]), op.getOut(), column);
  });
}

void ReduceWarp::acrossLanes() {
  Value shape = op.getInputs()[0], columns = index.dim(shape, rank - 1),
        rowCount = index.product(shape, 0, rank - 1), none = index.constant(0);
  State state = forElements(none, rowCount, 1, first(), [&](Value row, ValueRange state) {
    SmallVector<Value> outer = index.delinearize(row, shape, 0, rank - 1);
    return forEach(columns, state, [&](Value column, ValueRange state) {
      SmallVector<Value> place(outer);
      place.push_back(column);
      return combined(state, element(place), hasPlace() ? asI32(column) : Value());
    });
  });
  Value total = Warp::combine(state[0], [&](Value a, Value b) { return combine(a, b); });
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, index.constant(0));
  if (!hasPlace()) {
    Value result = finished(total);
    return choose(index, isFirst, [&] { store(result, op.getOut(), none); });
  }
  Value isMost = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, state[0], total);
  Value beyond = i32(std::numeric_limits<int32_t>::max());
  Value candidate = arith::SelectOp::create(builder, loc, isMost, state[1], beyond);
  Value place = Warp::combine(candidate, [&](Value a, Value b) -> Value {
    return arith::MinSIOp::create(builder, loc, a, b);
  });
  choose(index, isFirst, [&] { memref::StoreOp::create(builder, loc, place, op.getOut(), none); });
}

void attn::emitWarpRow(ReduceRowOp op, OpBuilder &builder) { ReduceWarp(op, builder).run(); }

void attn::emitWarpRow(SoftmaxRowOp op, OpBuilder &builder) {
  Location loc = op.getLoc();
  Warp warp(builder, loc);
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  least = std::numeric_limits<float>::lowest();
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  };
  auto larger = [&](Value a, Value b) -> Value {
    return arith::MaximumFOp::create(builder, loc, a, b);
  };
  Value columns = warp.index.dim(op.getOut(), 0);
  Value own = warp.forEach(columns, number(-infinity), [&](Value column, ValueRange most) {
    return SmallVector<Value>{larger(most[0], warp.load(op.getInput(), column))};
  })[0];
  // A row of -inf alone has a sum of 0.
  Value most = larger(warp.combine(own, larger), number(least));
  Value sum = warp.forEach(columns, number(0), [&](Value column, ValueRange sum) {
    Value shifted = arith::SubFOp::create(builder, loc, warp.load(op.getInput(), column), most);
    Value element = math::ExpOp::create(builder, loc, shifted);
    warp.store(element, op.getOut(), column);
    return SmallVector<Value>{arith::AddFOp::create(builder, loc, sum[0], element)};
  })[0];
  sum = warp.sum(sum);
  Value isZero = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, sum, number(0));
  Value scale = arith::SelectOp::create(builder, loc, isZero, number(0),
                                        arith::DivFOp::create(builder, loc, number(1), sum));
  warp.forEach(columns, [&](Value column) {
    Value element = warp.load(op.getOut(), column);
    warp.store(arith::MulFOp::create(builder, loc, element, scale), op.getOut(), column);
  });
}
