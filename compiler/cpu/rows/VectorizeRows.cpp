// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, of rows: norms, element-wise functions.
#include "compiler/cpu/rows/Rows.h"
#include "compiler/cpu/vectors/RowVectors.h"
#include "compiler/kernels/KernelRemarks.h"
#include "compiler/kernels/NormRow.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <functional>

using namespace mlir;
using namespace attn;

namespace {

/// Emits one tile op.
class RowEmitter : RowVectors {
public:
  RowEmitter(Operation *op, OpBuilder &builder, const CpuTarget &target)
      : RowVectors(builder, op->getLoc(), target), builder(builder), loc(op->getLoc()) {}

  void emit(NormRowOp op);
  LogicalResult emit(MapRowOp op);

private:
  /// From an element to the normalised one, both as vectors.
  using Normalise = std::function<Value(Value)>;
  Normalise layerNorm(NormRowOp op);
  Normalise rmsNorm(NormRowOp op);
  /// 1 / sqrt(variance + eps)
  Value inverseRoot(Value variance, NormRowOp op);

  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, loc, a, b, c); }
  Value repeat(Value scalar) { return splat(builder, loc, scalar, target.lanes); }
  Value number(double value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  /// An index as a float, a constant if it is one.
  Value asFloat(Value count);
  /// The sums of `sums`, `count` vectors that start at `first` and stand `stride` apart.
  Value total(ArrayRef<Value> sums, size_t first, size_t stride);

  OpBuilder &builder;
  Location loc;
};

} // namespace

Value RowEmitter::asFloat(Value count) {
  if (std::optional<int64_t> constant = constantIndex(count))
    return number(*constant);
  Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), count);
  return arith::SIToFPOp::create(builder, loc, builder.getF32Type(), wide);
}

Value RowEmitter::total(ArrayRef<Value> sums, size_t first, size_t stride) {
  Value result = sums[first];
  for (size_t i = first + stride; i < sums.size(); i += stride)
    result = add(result, sums[i]);
  return sumOfLanes(result);
}

// The row comes from memory in the first sweep and from the nearest cache in the other two, of
// which the former asks for the next row. With s = row[0], which makes rows of one value exact:
//   m  = s + sum(x - s) / N           the mean but for rounding, which is relative to the mean
//   c  = x - m                        exact where the deviation is small beside the mean
//   d  = sum(c) / N                   what rounding left
//   v  = sum(c^2) / N - d^2
//   normalised = (c - d) / sqrt(v + eps)
RowEmitter::Normalise RowEmitter::layerNorm(NormRowOp op) {
  Value columns = index.dim(op.getInput(), 0), count = asFloat(columns), none = zero();
  Value input = prepare(op.getInput());
  Value first = memref::LoadOp::create(builder, loc, op.getInput(), index.constant(0));

  Value shift = repeat(first);
  SmallVector<Value> sums =
      forEachVector(columns, 4, none, [&](const VectorPlace &place, ValueRange sum) {
        Value x = load(input, place, shift);
        return SmallVector<Value>{add(sum[0], sub(x, shift))};
      });
  Value mean = repeat(add(first, div(total(sums, 0, 1), count)));

  sums = forEachVector(columns, 4, {none, none}, [&](const VectorPlace &place, ValueRange sum) {
    Value c = sub(load(input, place, mean), mean);
    prefetchNextRow(op.getInput(), columns, place);
    return SmallVector<Value>{add(sum[0], c), fma(c, c, sum[1])};
  });
  Value rest = div(total(sums, 0, 2), count), squares = div(total(sums, 1, 2), count);
  Value variance =
      arith::MaximumFOp::create(builder, loc, number(0), sub(squares, mul(rest, rest)));
  Value scale = inverseRoot(variance, op);
  Value offset = repeat(arith::NegFOp::create(builder, loc, mul(rest, scale)));
  Value scales = repeat(scale);
  return [=](Value x) { return fma(sub(x, mean), scales, offset); };
}

// The row comes from memory in the first sweep, which asks for the next one, and from the nearest
// cache in the second: normalised = x / sqrt(sum(x^2) / N + eps)
RowEmitter::Normalise RowEmitter::rmsNorm(NormRowOp op) {
  Value columns = index.dim(op.getInput(), 0), input = prepare(op.getInput());
  SmallVector<Value> sums =
      forEachVector(columns, 4, zero(), [&](const VectorPlace &place, ValueRange sum) {
        Value x = load(input, place);
        prefetchNextRow(op.getInput(), columns, place);
        return SmallVector<Value>{fma(x, x, sum[0])};
      });
  Value scales = repeat(inverseRoot(div(total(sums, 0, 1), asFloat(columns)), op));
  return [=](Value x) { return mul(x, scales); };
}

Value RowEmitter::inverseRoot(Value variance, NormRowOp op) {
  Value deviation = math::SqrtOp::create(builder, loc, add(variance, number(op.getNorm().eps())));
  return div(number(1), deviation);
}

void RowEmitter::emit(NormRowOp op) {
  Value columns = index.dim(op.getInput(), 0), input = prepare(op.getInput());
  DenseMap<Value, Value> prepared;
  for (Value row : {op.getWeight(), op.getBias()})
    if (row)
      prepared[row] = prepare(row);
  Normalise normalise = op.getNorm().getKind() == NormKind::Layer ? layerNorm(op) : rmsNorm(op);
  forEachVector(columns, 4, {}, [&](const VectorPlace &place, ValueRange) {
    Value y = scaleAndShift(builder, op, normalise(load(input, place)),
                            [&](Value row) { return load(prepared.lookup(row), place); });
    store(y, op.getOut(), place);
    return SmallVector<Value>{};
  });
}

LogicalResult RowEmitter::emit(MapRowOp op) {
  // Gathers are of 32 and 64 bits, and AVX2 has no scatters.
  auto isApart = [&](Value row) {
    bool isNarrow = cast<MemRefType>(row.getType()).getElementTypeBitWidth() < 32;
    return (isNarrow || !target.avx512) && strideOf(row) != 1 && strideOf(row) != 0;
  };
  if (isApart(op.getOut()) || llvm::any_of(op.getInputs(), isApart))
    remarkScalar(op, target.name, "vectors are only of elements that lie side by side");
  SmallVector<Value> rows;
  for (Value input : op.getInputs())
    rows.push_back(prepare(input));
  bool isWhole = true;
  forEachVector(index.dim(op.getOut(), 0), 2, {}, [&](const VectorPlace &place, ValueRange) {
    SmallVector<Value> arguments;
    for (Value row : rows)
      arguments.push_back(load(row, place));
    if (Value result = vectorizeRegion(builder, op.getBody(), arguments, target.lanes))
      store(result, op.getOut(), place);
    else
      isWhole = false;
    return SmallVector<Value>{};
  });
  return success(isWhole);
}

LogicalResult attn::vectorizeRowTiles(Operation *root, const CpuTarget &target) {
  SmallVector<Operation *> tiles;
  root->walk([&](Operation *op) {
    if (isa<RowTileOpInterface>(op))
      tiles.push_back(op);
  });
  for (Operation *tile : tiles) {
    OpBuilder builder(tile);
    RowEmitter emitter(tile, builder, target);
    if (auto norm = dyn_cast<NormRowOp>(tile))
      emitter.emit(norm);
    else if (auto round = dyn_cast<RoundRowOp>(tile))
      emitRound(round, RowVectors(builder, tile->getLoc(), target));
    else if (auto quantize = dyn_cast<QuantizeRowOp>(tile))
      emitQuantize(quantize, RowVectors(builder, tile->getLoc(), target));
    else if (auto softmax = dyn_cast<SoftmaxRowOp>(tile))
      emitSoftmax(softmax, RowVectors(builder, tile->getLoc(), target));
    else if (auto topk = dyn_cast<TopkRowOp>(tile))
      emitTopk(topk, RowVectors(builder, tile->getLoc(), target));
    else if (auto rotary = dyn_cast<RotaryRowOp>(tile))
      emitRotary(rotary, RowVectors(builder, tile->getLoc(), target));
    else if (auto reduce = dyn_cast<ReduceRowOp>(tile)) {
      if (failed(emitReduce(reduce, RowVectors(builder, tile->getLoc(), target))))
        return failure();
    } else if (failed(emitter.emit(cast<MapRowOp>(tile))))
      return failure();
    tile->erase();
  }
  return success();
}
