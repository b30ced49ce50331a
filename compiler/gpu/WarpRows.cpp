// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on rows: norms, element-wise functions, means, lookups, rotary. A warp has rows, or
// pieces of rows where those are few, and its lanes neighbouring columns.
#include "compiler/cpu/VectorizeRegion.h"
#include "compiler/gpu/Kernels.h"
#include "compiler/gpu/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

namespace {

/// Writes the code of one row's tile before it.
class RowWarp : Warp {
public:
  RowWarp(Operation *tile, OpBuilder &builder) : Warp(builder, tile->getLoc()) {}

  void emit(NormRowOp op);
  void emit(MapRowOp op);
  void emit(MeanRowOp op);
  void emit(RotaryRowOp op);

private:
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, loc, a, b, c); }
  Value number(double value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value asFloat(Value count) {
    Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), count);
    return arith::SIToFPOp::create(builder, loc, builder.getF32Type(), wide);
  }
};

} // namespace

// As on the CPU (compiler/cpu/VectorizeRows.cpp says why): the mean but for rounding, then what
// rounding left, and the variance of what is small beside the mean.
void RowWarp::emit(NormRowOp op) {
  Value columns = index.dim(op.getInput(), 0), count = asFloat(columns), none = number(0);
  Value shift = load(op.getInput(), index.constant(0));
  Value shifted = forEach(columns, none, [&](Value column, ValueRange sum) {
    return SmallVector<Value>{add(sum[0], sub(load(op.getInput(), column), shift))};
  })[0];
  Value mean = add(shift, div(sum(shifted), count));

  SmallVector<Value> sums = forEach(columns, {none, none}, [&](Value column, ValueRange sums) {
    Value c = sub(load(op.getInput(), column), mean);
    return SmallVector<Value>{add(sums[0], c), fma(c, c, sums[1])};
  });
  Value rest = div(sum(sums[0]), count), squares = div(sum(sums[1]), count);
  Value variance = arith::MaximumFOp::create(builder, loc, none, sub(squares, mul(rest, rest)));
  Value eps = number(op.getEps().convertToDouble());
  Value scale = div(number(1), math::SqrtOp::create(builder, loc, add(variance, eps)));
  Value offset = arith::NegFOp::create(builder, loc, mul(rest, scale));
  forEach(columns, [&](Value column) {
    Value unit = fma(sub(load(op.getInput(), column), mean), scale, offset);
    store(fma(unit, load(op.getGamma(), column), load(op.getBeta(), column)), op.getOut(), column);
  });
}

void RowWarp::emit(MapRowOp op) {
  forEach(index.dim(op.getOut(), 0), [&](Value column) {
    SmallVector<Value> elements;
    for (Value input : op.getInputs())
      elements.push_back(memref::LoadOp::create(builder, loc, input, column));
    Value result = inlineHook(builder, op.getBody(), elements, {}, {});
    memref::StoreOp::create(builder, loc, result, op.getOut(), column);
  });
}

// Sums of 16 rows are added up: rounding grows with the square root of their number at most.
void RowWarp::emit(MeanRowOp op) {
  Value height = index.dim(op.getInput(), 0), zero = index.constant(0);
  auto sumOf = [&](Value from, Value to, int64_t step, auto addend) -> Value {
    auto loop = scf::ForOp::create(builder, loc, from, to, index.constant(step), number(0),
                                   [](OpBuilder &, Location, Value, ValueRange) {});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value next = add(loop.getRegionIterArg(0), addend(loop.getInductionVar()));
    scf::YieldOp::create(builder, loc, next);
    return loop.getResult(0);
  };
  forEach(index.dim(op.getInput(), 1), [&](Value column) {
    Value sum = sumOf(zero, height, 16, [&](Value block) {
      Value end = index.min(height, index.add(block, index.constant(16)));
      return sumOf(block, end, 1, [&](Value row) { return load(op.getInput(), {row, column}); });
    });
    store(div(sum, asFloat(height)), op.getOut(), column);
  });
}

void RowWarp::emit(RotaryRowOp op) {
  Value pairs = index.dim(op.getCos(), 0), two = index.constant(2), one = index.constant(1);
  forEach(pairs, [&](Value pair) {
    Value first = op.getInterleaved() ? index.mul(pair, two) : pair,
          second = index.add(first, op.getInterleaved() ? one : pairs);
    Value a = load(op.getInput(), first), b = load(op.getInput(), second);
    Value cos = load(op.getCos(), pair), sin = load(op.getSin(), pair);
    Value negated = arith::NegFOp::create(builder, loc, mul(b, sin));
    store(fma(a, cos, negated), op.getOut(), first);
    store(fma(b, cos, mul(a, sin)), op.getOut(), second);
  });
}

LogicalResult attn::emitRowKernel(Operation *kernel, const TilingContext &workers) {
  // Four of its vectors, the piece of a mean, are a warp's columns.
  static const CpuTarget warp{"gpu", Warp::lanes / 4, /*registers=*/255, /*avx512=*/false};
  TilingContext context{warp, workers.thread, workers.threads};
  FailureOr<std::string> tiled =
      llvm::TypeSwitch<Operation *, FailureOr<std::string>>(kernel)
          .Case([&](NormKernelOp op) { return tileNorm(op, context); })
          .Case([&](MapKernelOp op) { return tileMap(op, context); })
          .Case([&](MeanKernelOp op) { return tileMean(op, context); })
          .Case([&](LookupKernelOp op) { return tileLookup(op, context); })
          .Case([&](RotaryKernelOp op) { return tileRotary(op, context); });
  if (failed(tiled))
    return failure();
  SmallVector<Operation *> tiles;
  kernel->getParentOp()->walk([&](Operation *op) {
    if (isa<NormRowOp, MapRowOp, MeanRowOp, RotaryRowOp>(op))
      tiles.push_back(op);
  });
  for (Operation *tile : tiles) {
    OpBuilder builder(tile);
    RowWarp warp(tile, builder);
    llvm::TypeSwitch<Operation *>(tile).Case<NormRowOp, MapRowOp, MeanRowOp, RotaryRowOp>(
        [&](auto op) { warp.emit(op); });
    tile->erase();
  }
  return success();
}
