// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, reductions of a row. Lanes are neighbouring columns:
//   parts[v] = scf.for s ... iter_args(first) { combine parts[v], body(input[s][v]...) }
// or, where one axis alone lies element by element, neighbours along that, whose parts are combined
// at the end. Of columns, sums of 16 elements are added up, so that rounding grows with the square
// root of their number at most.
#include "compiler/cpu/rows/Rows.h"
#include "compiler/cpu/vectors/RowVectors.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

/// Emits the tile of a row.
class ReduceEmitter {
public:
  ReduceEmitter(ReduceRowOp op, const RowVectors &rows)
      : op(op), rows(rows), index(rows.index), builder(index.builder), loc(index.loc),
        kind(op.getKind()), lanes(rows.target.lanes),
        rank(cast<MemRefType>(op.getInputs()[0].getType()).getRank()) {}

  LogicalResult run() {
    op.getAcross() ? acrossLanes() : byColumns();
    return failure(isBroken);
  }

private:
  /// What has been found so far: a value, and of argmax its place, as vectors.
  using State = SmallVector<Value, 2>;

  void byColumns();
  void acrossLanes();
  /// The states after elements [from, to) of all reduced dims, in steps of `step`.
  SmallVector<Value> forElements(Value from, Value to, int64_t step, ValueRange states,
                                 llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  /// The states of all places after element `s`.
  SmallVector<Value> withElement(ArrayRef<VectorPlace> places, Value s, ValueRange states);
  /// What is reduced, of a vector of each input; `first()` where there is nothing.
  Value element(ArrayRef<Value> loaded, const VectorPlace &place);
  State first();
  /// A state with one more element, whose place in all reduced ones is `at` (i32 in all lanes).
  State combined(ValueRange state, Value element, Value at);
  /// Two values to one, scalars or vectors.
  Value combine(Value a, Value b);
  /// The mean of a sum, else the value itself.
  Value finished(Value value);
  bool isSum() const { return kind == Reduction::Sum || kind == Reduction::Mean; }
  bool hasPlace() const { return kind == Reduction::ArgMax; }
  /// Elements that are reduced.
  Value count() { return index.product(op.getInputs()[0], 0, rank - (op.getAcross() ? 0 : 1)); }
  Value repeat(Value scalar) { return splat(builder, loc, scalar, lanes); }
  /// The place in `from` that the largest of `values` has first, over all lanes.
  Value firstPlace(Value values, Value places);
  void store(Value value);

  ReduceRowOp op;
  const RowVectors &rows;
  IndexBuilder index;
  OpBuilder &builder;
  Location loc;
  Reduction kind;
  int64_t lanes, rank;
  bool isBroken = false; ///< an error has been reported
};

} // namespace

Value ReduceEmitter::combine(Value a, Value b) {
  if (isSum())
    return arith::AddFOp::create(builder, loc, a, b);
  if (kind == Reduction::Min)
    return arith::MinimumFOp::create(builder, loc, a, b);
  return arith::MaximumFOp::create(builder, loc, a, b);
}

ReduceEmitter::State ReduceEmitter::first() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float value = isSum() ? 0 : kind == Reduction::Min ? infinity : -infinity;
  State state{repeat(arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value)))};
  if (hasPlace())
    state.push_back(repeat(arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0))));
  return state;
}

ReduceEmitter::State ReduceEmitter::combined(ValueRange state, Value element, Value at) {
  if (!hasPlace())
    return {combine(state[0], element)};
  Value isLarger =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, element, state[0]);
  return {arith::SelectOp::create(builder, loc, isLarger, element, state[0]),
          arith::SelectOp::create(builder, loc, isLarger, at, state[1])};
}

Value ReduceEmitter::element(ArrayRef<Value> loaded, const VectorPlace &place) {
  Value result = loaded[0];
  if (!op.getBody().empty())
    result = vectorizeRegion(builder, op.getBody(), loaded, lanes);
  if (!result) {
    isBroken = true;
    return first()[0];
  }
  // Lanes outside of the row count for nothing where all of them are combined.
  if (place.mask && op.getAcross())
    result = arith::SelectOp::create(builder, loc, place.mask, result, first()[0]);
  return result;
}

Value ReduceEmitter::finished(Value value) {
  if (kind != Reduction::Mean)
    return value;
  Value size = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), count());
  Value number = arith::SIToFPOp::create(builder, loc, builder.getF32Type(), size);
  if (isa<VectorType>(value.getType()))
    number = repeat(number);
  return arith::DivFOp::create(builder, loc, value, number);
}

SmallVector<Value>
ReduceEmitter::forElements(Value from, Value to, int64_t step, ValueRange states,
                           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, loc, from, to, index.constant(step), states,
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), ValueRange(loop.getRegionIterArgs()));
  scf::YieldOp::create(builder, loc, next);
  return loop.getResults();
}

SmallVector<Value> ReduceEmitter::withElement(ArrayRef<VectorPlace> places, Value s,
                                              ValueRange states) {
  SmallVector<Value> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(rows.prepare(rowOf(index, input, s, 1)));
  Value at = hasPlace() ? repeat(s) : Value();
  size_t each = first().size();
  SmallVector<Value> next;
  for (auto [i, place] : llvm::enumerate(places)) {
    SmallVector<Value> loaded;
    for (Value input : inputs)
      loaded.push_back(rows.load(input, place));
    llvm::append_range(next, combined(states.slice(i * each, each), element(loaded, place), at));
  }
  return next;
}

void ReduceEmitter::byColumns() {
  constexpr int64_t block = 16;
  SmallVector<VectorPlace> places = rows.placesIn(index.dim(op.getOut(), 0), 4);
  SmallVector<Value> states;
  for (size_t i = 0; i < places.size(); ++i)
    llvm::append_range(states, first());
  Value height = count(), none = index.constant(0);
  auto add = [&](Value s, ValueRange states) { return withElement(places, s, states); };
  std::optional<int64_t> known = constantIndex(height);
  if (!isSum() || (known && *known <= block)) {
    states = forElements(none, height, 1, states, add);
  } else {
    SmallVector<Value> zeros(states);
    states = forElements(none, height, block, states, [&](Value from, ValueRange sums) {
      Value to = index.min(height, index.add(from, index.constant(block)));
      SmallVector<Value> own = forElements(from, to, 1, zeros, add), next;
      for (auto [sum, part] : llvm::zip_equal(sums, own))
        next.push_back(combine(sum, part));
      return next;
    });
  }
  size_t each = states.size() / places.size();
  for (auto [i, place] : llvm::enumerate(places))
    rows.store(hasPlace() ? states[i * each + 1] : finished(states[i * each]), op.getOut(), place);
}

Value ReduceEmitter::firstPlace(Value values, Value places) {
  Value most = rows.acrossLanes(values, [&](Value a, Value b) -> Value {
    return arith::MaximumFOp::create(builder, loc, a, b);
  });
  Value isMost =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, values, repeat(most));
  Value beyond = repeat(arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(std::numeric_limits<int32_t>::max())));
  Value candidates = arith::SelectOp::create(builder, loc, isMost, places, beyond);
  return rows.acrossLanes(candidates, [&](Value a, Value b) -> Value {
    return arith::MinSIOp::create(builder, loc, a, b);
  });
}

void ReduceEmitter::acrossLanes() {
  Value columns = index.dim(op.getInputs()[0], rank - 1);
  Value rowCount = index.product(op.getInputs()[0], 0, rank - 1);
  SmallVector<Value> zero = first();
  auto places32 = VectorType::get({lanes}, builder.getI32Type());
  // Of a row of the last dim, the parts of all lanes.
  auto partsOf = [&](Value row) {
    SmallVector<Value> inputs;
    for (Value input : op.getInputs())
      inputs.push_back(rows.prepare(rowOf(index, input, row, 1)));
    SmallVector<Value> parts =
        rows.forEachVector(columns, 4, zero, [&](const VectorPlace &place, ValueRange state) {
          SmallVector<Value> loaded;
          for (Value input : inputs)
            loaded.push_back(rows.load(input, place));
          Value at;
          if (hasPlace()) {
            auto wide = VectorType::get({lanes}, builder.getIndexType());
            Value lane = arith::IndexCastOp::create(builder, loc, places32,
                                                    vector::StepOp::create(builder, loc, wide));
            at = arith::AddIOp::create(builder, loc, lane, repeat(place.column));
          }
          State next = combined(state, element(loaded, place), at);
          return SmallVector<Value>(next.begin(), next.end());
        });
    return parts;
  };
  if (hasPlace()) { // of one dim
    SmallVector<Value> parts = partsOf(index.constant(0));
    Value values = parts[0], places = parts[1];
    for (size_t i = 2; i < parts.size(); i += 2) {
      // The larger, or the earlier of equal ones.
      Value isLarger =
                arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, parts[i], values),
            isSame =
                arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, parts[i], values),
            isEarlier = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, parts[i + 1],
                                              places);
      Value isBetter = arith::OrIOp::create(builder, loc, isLarger,
                                            arith::AndIOp::create(builder, loc, isSame, isEarlier));
      values = arith::SelectOp::create(builder, loc, isBetter, parts[i], values);
      places = arith::SelectOp::create(builder, loc, isBetter, parts[i + 1], places);
    }
    return store(firstPlace(values, places));
  }
  auto totalOf = [&](Value row) {
    SmallVector<Value> parts = partsOf(row);
    Value total = parts[0];
    for (Value part : llvm::drop_begin(parts))
      total = combine(total, part);
    return total;
  };
  Value total;
  if (constantIndex(rowCount) == 1)
    total = totalOf(index.constant(0));
  else
    total = forElements(index.constant(0), rowCount, 1, zero, [&](Value row, ValueRange state) {
      return SmallVector<Value>{combine(state[0], totalOf(row))};
    })[0];
  store(finished(rows.acrossLanes(total, [&](Value a, Value b) { return combine(a, b); })));
}

void ReduceEmitter::store(Value value) {
  memref::StoreOp::create(builder, loc, value, op.getOut(), index.constant(0));
}

LogicalResult attn::emitReduce(ReduceRowOp op, const RowVectors &rows) {
  return ReduceEmitter(op, rows).run();
}
