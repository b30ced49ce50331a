// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.norm_row: two or three sweeps, of which the last one writes.
#include "compiler/kernels/rows/RowKernels.h"
#include "compiler/kernels/rows/RowLanes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>

using namespace mlir;
using namespace attn;

namespace {

/// Writes the code of one tile.
class NormEmitter {
public:
  NormEmitter(NormRowOp op, const RowLanes &lanes)
      : op(op), lanes(lanes), math(lanes.math), columns(lanes.index.dim(op.getInput(), 0)),
        input(lanes.prepare(op.getInput())) {}

  void run();

private:
  /// From elements to the normalised ones.
  using Normalise = std::function<Value(Value)>;
  Normalise layerNorm();
  Normalise rmsNorm();
  Normalise l2Norm();
  Normalise normaliser();
  /// Elements times a number.
  Normalise times(Value scale);
  Value sumOfSquares();
  /// 1 / sqrt(variance + eps)
  Value inverseRoot(Value variance) {
    Value deviation = math.sqrt(math.add(variance, lanes.number(op.getNorm().eps())));
    return math.div(lanes.number(1), deviation);
  }
  /// normalised * (offset + weight) + bias, at a place of rows that are `prepared`.
  Value scaleAndShift(Value normalised, const RowPlace &place,
                      const DenseMap<Value, Value> &prepared);

  NormRowOp op;
  const RowLanes &lanes;
  const FloatArithmetic &math;
  Value columns, input;
};

} // namespace

// The row comes from memory in the first sweep and from the nearest cache in the other two, of
// which the former asks for the next row. With s = row[0], which makes rows of one value exact:
//   m  = s + sum(x - s) / N           the mean but for rounding, which is relative to the mean
//   c  = x - m                        exact where the deviation is small beside the mean
//   d  = sum(c) / N                   what rounding left
//   v  = sum(c^2) / N - d^2
//   normalised = (c - d) / sqrt(v + eps)
NormEmitter::Normalise NormEmitter::layerNorm() {
  Value count = lanes.asFloat(columns), none = lanes.repeat(lanes.number(0));
  Value first = lanes.loadNumber(op.getInput(), lanes.index.constant(0));
  Value shift = lanes.repeat(first);
  auto plus = [&](Value a, Value b) { return math.add(a, b); };
  Value sum = lanes.fold(columns, 4, none, plus, [&](const RowPlace &place, Value sum) {
    return math.add(sum, math.sub(lanes.loadFloats(input, place, shift), shift));
  });
  Value mean = lanes.repeat(math.add(first, math.div(lanes.sumOfLanes(sum), count)));

  auto addDeviation = [&](const RowPlace &place, ValueRange sums) {
    Value c = math.sub(lanes.loadFloats(input, place, mean), mean);
    lanes.prefetchNextRow(op.getInput(), columns, place);
    return RowFold::State{math.add(sums[0], c), math.fma(c, c, sums[1])};
  };
  auto join = [&](ValueRange a, ValueRange b) {
    return RowFold::State{math.add(a[0], b[0]), math.add(a[1], b[1])};
  };
  RowFold::State sums = lanes.fold(columns, 4, RowFold{{none, none}, addDeviation, join});
  Value rest = math.div(lanes.sumOfLanes(sums[0]), count),
        squares = math.div(lanes.sumOfLanes(sums[1]), count);
  Value variance = math.larger(lanes.number(0), math.sub(squares, math.mul(rest, rest)));
  Value scale = inverseRoot(variance);
  Value offset = lanes.repeat(math.neg(math.mul(rest, scale)));
  Value scales = lanes.repeat(scale);
  return [=](Value x) { return math.fma(math.sub(x, mean), scales, offset); };
}

// The row comes from memory in this sweep, which asks for the next one, and from the nearest cache
// in the one that writes.
Value NormEmitter::sumOfSquares() {
  Value none = lanes.repeat(lanes.number(0));
  auto plus = [&](Value a, Value b) { return math.add(a, b); };
  Value squares = lanes.fold(columns, 4, none, plus, [&](const RowPlace &place, Value sum) {
    Value x = lanes.loadFloats(input, place);
    lanes.prefetchNextRow(op.getInput(), columns, place);
    return math.fma(x, x, sum);
  });
  return lanes.sumOfLanes(squares);
}

// normalised = x / sqrt(sum(x^2) / N + eps)
NormEmitter::Normalise NormEmitter::rmsNorm() {
  return times(inverseRoot(math.div(sumOfSquares(), lanes.asFloat(columns))));
}

// normalised = x / max(sqrt(sum(x^2)), eps)
NormEmitter::Normalise NormEmitter::l2Norm() {
  Value length = math.larger(math.sqrt(sumOfSquares()), lanes.number(op.getNorm().eps()));
  return times(math.div(lanes.number(1), length));
}

NormEmitter::Normalise NormEmitter::times(Value scale) {
  Value scales = lanes.repeat(scale);
  return [=](Value x) { return math.mul(x, scales); };
}

NormEmitter::Normalise NormEmitter::normaliser() {
  switch (op.getNorm().getKind()) {
  case NormKind::Layer:
    return layerNorm();
  case NormKind::RootMeanSquare:
    return rmsNorm();
  case NormKind::Euclidean:
    return l2Norm();
  }
  llvm_unreachable("all kinds of norms have a formula");
}

Value NormEmitter::scaleAndShift(Value normalised, const RowPlace &place,
                                 const DenseMap<Value, Value> &prepared) {
  auto load = [&](Value row) { return lanes.loadFloats(prepared.lookup(row), place); };
  Value factor = op.getWeight() ? load(op.getWeight()) : Value();
  if (double offset = op.getNorm().offset(); factor && offset != 0)
    factor = math.add(factor, lanes.repeat(lanes.number(offset)));
  if (!op.getBias())
    return factor ? math.mul(normalised, factor) : normalised;
  Value bias = load(op.getBias());
  return factor ? math.fma(normalised, factor, bias) : math.add(normalised, bias);
}

void NormEmitter::run() {
  DenseMap<Value, Value> prepared;
  for (Value row : {op.getWeight(), op.getBias()})
    if (row)
      prepared[row] = lanes.prepare(row);
  Normalise normalise = normaliser();
  lanes.forEach(columns, 4, [&](const RowPlace &place) {
    Value y = normalise(lanes.loadFloats(input, place));
    lanes.store(scaleAndShift(y, place, prepared), op.getOut(), place);
  });
}

LogicalResult attn::emitRow(NormRowOp op, const RowLanes &lanes) {
  NormEmitter(op, lanes).run();
  return success();
}
