// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.reduce_row. A lane reduces the elements of its columns:
//   state[column] = scf.for s ... { state[column] combined with body(input[s][column]...) }
// Where the last axis is reduced, the lanes divide it, and their states are combined at the end.
// Sums of columns add up sums of 16 elements, so that rounding grows with the square root of the
// number of elements at most.
#include "compiler/kernels/rows/RowKernels.h"
#include "compiler/kernels/rows/RowLanes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

/// Writes the code of one tile.
class ReduceEmitter {
public:
  ReduceEmitter(ReduceRowOp op, const RowLanes &lanes)
      : op(op), lanes(lanes), index(lanes.index), math(lanes.math), kind(op.getKind()),
        rank(cast<MemRefType>(op.getInputs()[0].getType()).getRank()) {}

  LogicalResult run() {
    op.getAcross() ? acrossLanes() : byColumns();
    return failure(isBroken);
  }

private:
  /// What has been found so far: values, and of argmax their places.
  using State = RowFold::State;

  void byColumns();
  void acrossLanes();
  /// The lanes' states after row `row` of the last axis.
  State acrossRow(Value row, ValueRange before);
  /// The states of all places after elements [from, to) of what is reduced.
  State overElements(ArrayRef<RowPlace> places, Value from, Value to, ValueRange states);
  /// The row of each input at element `s` of the axes in front of the last one.
  SmallVector<Value> rowsAt(Value s);
  /// What is reduced, at a place of these rows.
  Value element(ArrayRef<Value> rows, const RowPlace &place);
  /// The state before the first element.
  State start();
  /// A state with one more element, whose place in all reduced ones is `at` (i32 in all lanes).
  State combined(ValueRange state, Value element, Value at);
  /// Two values to one, of lanes or numbers.
  Value combine(Value a, Value b);
  /// The state of the elements of both; argmax keeps the earlier place of equal elements.
  State join(ValueRange a, ValueRange b);
  /// The place that the largest of the lanes' values has first.
  Value firstPlace(ValueRange state);
  bool isSum() const { return kind == Reduction::Sum || kind == Reduction::Mean; }
  bool isMean() const { return kind == Reduction::Mean; }
  bool hasPlace() const { return kind == Reduction::ArgMax; }
  /// The number of elements that are reduced.
  Value count() { return index.product(op.getInputs()[0], 0, rank - (op.getAcross() ? 0 : 1)); }
  Value i32(int32_t value) {
    return arith::ConstantOp::create(index.builder, index.loc,
                                     index.builder.getI32IntegerAttr(value));
  }

  ReduceRowOp op;
  const RowLanes &lanes;
  const IndexBuilder &index;
  const FloatArithmetic &math;
  Reduction kind;
  int64_t rank;
  bool isBroken = false; ///< an error has been reported
};

} // namespace

Value ReduceEmitter::combine(Value a, Value b) {
  if (isSum())
    return math.add(a, b);
  return kind == Reduction::Min ? math.smaller(a, b) : math.larger(a, b);
}

ReduceEmitter::State ReduceEmitter::start() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  State state{lanes.repeat(lanes.number(isSum()                  ? 0
                                        : kind == Reduction::Min ? infinity
                                                                 : -infinity))};
  if (hasPlace())
    state.push_back(lanes.repeat(i32(0)));
  return state;
}

ReduceEmitter::State ReduceEmitter::combined(ValueRange state, Value element, Value at) {
  if (!hasPlace())
    return {combine(state[0], element)};
  Value isLarger = math.compare(arith::CmpFPredicate::OGT, element, state[0]);
  return {math.select(isLarger, element, state[0]), math.select(isLarger, at, state[1])};
}

ReduceEmitter::State ReduceEmitter::join(ValueRange a, ValueRange b) {
  if (!hasPlace())
    return {combine(a[0], b[0])};
  Value isLarger = math.compare(arith::CmpFPredicate::OGT, b[0], a[0]),
        isSame = math.compare(arith::CmpFPredicate::OEQ, b[0], a[0]),
        isEarlier =
            arith::CmpIOp::create(index.builder, index.loc, arith::CmpIPredicate::slt, b[1], a[1]);
  Value isBetter =
      arith::OrIOp::create(index.builder, index.loc, isLarger,
                           arith::AndIOp::create(index.builder, index.loc, isSame, isEarlier));
  return {math.select(isBetter, b[0], a[0]), math.select(isBetter, b[1], a[1])};
}

SmallVector<Value> ReduceEmitter::rowsAt(Value s) {
  SmallVector<Value> rows;
  for (Value input : op.getInputs())
    rows.push_back(lanes.prepare(rowOf(index, input, s, 1)));
  return rows;
}

Value ReduceEmitter::element(ArrayRef<Value> rows, const RowPlace &place) {
  SmallVector<Value> loaded;
  for (Value row : rows)
    loaded.push_back(lanes.loadFloats(row, place));
  Value result = op.getBody().empty() ? loaded[0] : lanes.apply(op.getBody(), loaded);
  if (!result) {
    isBroken = true;
    return start()[0];
  }
  // Lanes outside of the row count for nothing where all of them are combined.
  return op.getAcross() ? lanes.inRow(place, result, start()[0]) : result;
}

ReduceEmitter::State ReduceEmitter::overElements(ArrayRef<RowPlace> places, Value from, Value to,
                                                 ValueRange states) {
  return carryingLoop(index, from, to, index.constant(1), states, [&](Value s, ValueRange states) {
    SmallVector<Value> rows = rowsAt(s);
    Value at = hasPlace() ? lanes.repeat(s) : Value();
    size_t each = states.size() / places.size();
    State next;
    for (auto [i, place] : llvm::enumerate(places))
      llvm::append_range(next, combined(states.slice(i * each, each), element(rows, place), at));
    return next;
  });
}

void ReduceEmitter::byColumns() {
  constexpr int64_t block = 16;
  Value height = count(), none = index.constant(0);
  std::optional<int64_t> known = constantIndex(height);
  lanes.forPlaces(index.dim(op.getOut(), 0), 4, [&](ArrayRef<RowPlace> places) {
    State states;
    for (size_t i = 0; i < places.size(); ++i)
      llvm::append_range(states, start());
    if (!isSum() || (known && *known <= block)) {
      states = overElements(places, none, height, states);
    } else {
      State zeros(states);
      states = carryingLoop(
          index, none, height, index.constant(block), states, [&](Value from, ValueRange sums) {
            Value to = index.min(height, index.add(from, index.constant(block)));
            State next;
            for (auto [sum, part] : llvm::zip_equal(sums, overElements(places, from, to, zeros)))
              next.push_back(combine(sum, part));
            return next;
          });
    }
    size_t each = states.size() / places.size();
    for (auto [i, place] : llvm::enumerate(places)) {
      Value result = states[(i + 1) * each - 1]; // of argmax the places
      if (isMean())
        result = math.div(result, lanes.repeat(lanes.asFloat(height)));
      lanes.store(result, op.getOut(), place);
    }
  });
}

ReduceEmitter::State ReduceEmitter::acrossRow(Value row, ValueRange before) {
  SmallVector<Value> rows = rowsAt(row);
  auto step = [&](const RowPlace &place, ValueRange state) {
    Value at = hasPlace() ? lanes.columnsAt(place) : Value();
    return combined(state, element(rows, place), at);
  };
  auto joined = [&](ValueRange a, ValueRange b) { return join(a, b); };
  Value columns = index.dim(op.getInputs()[0], rank - 1);
  return lanes.fold(columns, 4, RowFold{start(), step, joined}, before);
}

Value ReduceEmitter::firstPlace(ValueRange state) {
  Value most = lanes.acrossLanes(state[0], [&](Value a, Value b) { return math.larger(a, b); });
  Value isMost = math.compare(arith::CmpFPredicate::OEQ, state[0], lanes.repeat(most));
  Value beyond = lanes.repeat(i32(std::numeric_limits<int32_t>::max()));
  return lanes.acrossLanes(math.select(isMost, state[1], beyond), [&](Value a, Value b) -> Value {
    return arith::MinSIOp::create(index.builder, index.loc, a, b);
  });
}

void ReduceEmitter::acrossLanes() {
  Value rowCount = index.product(op.getInputs()[0], 0, rank - 1), none = index.constant(0);
  State state;
  if (hasPlace() || constantIndex(rowCount) == 1) // places are of one axis
    state = acrossRow(none, {});
  else
    state = carryingLoop(index, none, rowCount, index.constant(1), start(),
                         [&](Value row, ValueRange before) { return acrossRow(row, before); });
  Value result = hasPlace()
                     ? firstPlace(state)
                     : lanes.acrossLanes(state[0], [&](Value a, Value b) { return combine(a, b); });
  if (isMean())
    result = math.div(result, lanes.asFloat(count()));
  lanes.storeNumber(result, op.getOut(), none);
}

LogicalResult attn::emitRow(ReduceRowOp op, const RowLanes &lanes) {
  return ReduceEmitter(op, lanes).run();
}
