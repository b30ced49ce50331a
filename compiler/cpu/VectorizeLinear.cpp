// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.linear_tile as vector code:
//   sums[rows][vectors] = scf.for k ... iter_args(zeros)
//     sums[r][v] = fma(input[r][k] in all lanes, panels[k][v], sums[r][v])
//   out[r][v] = epilogue(sums[r][v] + bias[v], captures[r][v]...)
// Rows are found once, before the loop (RowViews.h). The last columns are stored under a mask.
#include "compiler/cpu/Kernels.h"
#include "compiler/cpu/LinearShape.h"
#include "compiler/cpu/RowViews.h"
#include "compiler/cpu/VectorizeRegion.h"
#include "compiler/transforms/ParameterLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

namespace {

class TileEmitter {
public:
  TileEmitter(LinearTileOp op, LinearShape shape, int64_t lanes)
      : op(op), shape(std::move(shape)), lanes(lanes), rows(op.getRows()), columns(op.getColumns()),
        builder(op), index(builder, op.getLoc()),
        vectorType(VectorType::get({lanes}, builder.getF32Type())) {}

  LogicalResult run();

private:
  using Values = SmallVector<Value>;

  /// The sums after the loops over contracted dims [d, ...); `ks` are the outer ones' variables and
  /// `flat` counts the steps before.
  Values contract(size_t d, Values ks, Value flat, Values sums);
  /// One step of k for all sums.
  void step(ArrayRef<Value> ks, Value flat, Values &sums);
  void fetchAhead(Value flat);
  /// scf.if, with what both sides give.
  Values choose(Value condition, llvm::function_ref<Values()> yes, llvm::function_ref<Values()> no);
  /// Emits for the number of columns that the tile has within `out`: all, or those of the last
  /// tile.
  Values forColumns(llvm::function_ref<Values(int64_t)> emit);
  Values loadSums(int64_t count);
  /// Bias, epilogue and stores of the first `count` columns; only the stores of a part's sums.
  void finish(ArrayRef<Value> sums, int64_t count, bool isLastPart);
  /// What is stored for a sum; null after an error.
  Value outputFor(Value sum, Value bias, ArrayRef<Value> captured);
  RowViews views() { return {index, op.getRow(), rows}; }
  Values outs() { return views().of(op.getOut(), op.getOut().getType().getRank() - 1); }
  ColumnVector access(int64_t v, int64_t count) {
    return {index, op.getColumn(), v * lanes, lanes, std::min(lanes, count - v * lanes)};
  }

  LinearTileOp op;
  LinearShape shape;
  int64_t lanes, rows, columns;
  OpBuilder builder;
  IndexBuilder index;
  VectorType vectorType;
  SmallVector<Value> inputs; ///< a row's contracted dims
  Value weights;             ///< where the tile's columns begin in their panel
  bool isBroken = false;     ///< an error has been reported
};

} // namespace

void TileEmitter::step(ArrayRef<Value> ks, Value flat, Values &sums) {
  Location loc = op.getLoc();
  Value offset = index.add(weights, index.mul(flat, index.constant(panelWidth)));
  int64_t vectors = columns / lanes;
  Values loaded;
  for (int64_t v = 0; v < vectors; ++v)
    loaded.push_back(
        vector::LoadOp::create(builder, loc, vectorType, op.getPanels(),
                               ValueRange(index.add(offset, index.constant(v * lanes)))));
  for (int64_t r = 0; r < rows; ++r) {
    Value element = memref::LoadOp::create(builder, loc, inputs[r], ks);
    Value repeated = vector::BroadcastOp::create(builder, loc, vectorType, element);
    for (int64_t v = 0; v < vectors; ++v) {
      Value &sum = sums[r * vectors + v];
      sum = math::FmaOp::create(builder, loc, repeated, loaded[v], sum);
    }
  }
}

void TileEmitter::fetchAhead(Value flat) {
  if (!op.getAhead())
    return;
  int64_t pace = op.getPace(), line = 16;
  Value first = index.add(op.getAhead(), index.mul(flat, index.constant(pace)));
  for (int64_t i = 0; i < pace * shape.unroll(); i += line)
    memref::PrefetchOp::create(builder, op.getLoc(), op.getPanels(),
                               ValueRange(index.add(first, index.constant(i))), /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
}

TileEmitter::Values TileEmitter::contract(size_t d, Values ks, Value flat, Values sums) {
  Location loc = op.getLoc();
  bool isInner = d + 1 == shape.ks.size();
  int64_t size = d == 0 ? op.getDepth() : shape.ks[d];
  int64_t unroll = isInner ? shape.unroll() : 1, looped = size - size % unroll;
  flat = index.mul(flat, index.constant(size));
  auto body = [&](Value k, int64_t steps, Values sums) {
    Value start = index.add(flat, k), own = d == 0 ? index.add(op.getStart(), k) : k;
    if (!isInner) {
      Values inner = ks;
      inner.push_back(own);
      return contract(d + 1, inner, start, sums);
    }
    if (steps == unroll)
      fetchAhead(start);
    for (int64_t i = 0; i < steps; ++i) {
      Values inner = ks;
      inner.push_back(index.add(own, index.constant(i)));
      step(inner, index.add(start, index.constant(i)), sums);
    }
    return sums;
  };
  if (looped == unroll)
    sums = body(index.constant(0), unroll, sums);
  else if (looped > 0) {
    auto loop = scf::ForOp::create(builder, loc, index.constant(0), index.constant(looped),
                                   index.constant(unroll), sums);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Values next = body(loop.getInductionVar(), unroll, Values(loop.getRegionIterArgs()));
    scf::YieldOp::create(builder, loc, next);
    sums = Values(loop.getResults());
  }
  if (size > looped)
    sums = body(index.constant(looped), size - looped, sums);
  return sums;
}

TileEmitter::Values TileEmitter::choose(Value condition, llvm::function_ref<Values()> yes,
                                        llvm::function_ref<Values()> no) {
  auto side = [](llvm::function_ref<Values()> emit) {
    return [emit](OpBuilder &builder, Location loc) {
      Values values = emit();
      scf::YieldOp::create(builder, loc, values);
    };
  };
  return Values(
      scf::IfOp::create(builder, op.getLoc(), condition, side(yes), side(no)).getResults());
}

TileEmitter::Values TileEmitter::forColumns(llvm::function_ref<Values(int64_t)> emit) {
  int64_t last = shape.n % columns;
  if (last == 0 || shape.n < columns)
    return emit(last == 0 ? columns : last);
  Value isWhole = arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::ult,
                                        op.getColumn(), index.constant(shape.n - last));
  return choose(isWhole, [&] { return emit(columns); }, [&] { return emit(last); });
}

TileEmitter::Values TileEmitter::loadSums(int64_t count) {
  Values rowsOut = outs(), sums;
  Value zero = arith::ConstantOp::create(builder, op.getLoc(), builder.getZeroAttr(vectorType));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < columns / lanes; ++v)
      sums.push_back(v * lanes < count ? access(v, count).load(rowsOut[r]) : zero);
  return sums;
}

Value TileEmitter::outputFor(Value sum, Value bias, ArrayRef<Value> captured) {
  if (bias)
    sum = arith::AddFOp::create(builder, op.getLoc(), sum, bias);
  if (op.getEpilogue().empty())
    return sum;
  Values arguments{sum};
  llvm::append_range(arguments, captured);
  return vectorizeRegion(builder, op.getEpilogue(), arguments, lanes);
}

void TileEmitter::finish(ArrayRef<Value> sums, int64_t count, bool isLastPart) {
  int64_t vectors = columns / lanes;
  SmallVector<Values> captures;
  if (isLastPart)
    for (Value capture : op.getCaptures())
      captures.push_back(views().of(capture, cast<MemRefType>(capture.getType()).getRank() - 1));
  Values rowsOut = outs();
  for (int64_t v = 0; v < vectors && v * lanes < count && !isBroken; ++v) {
    ColumnVector own = access(v, count);
    Value bias = isLastPart && op.getBias() ? own.load(op.getBias()) : Value();
    for (int64_t r = 0; r < rows && !isBroken; ++r) {
      Value result = sums[r * vectors + v];
      if (isLastPart) {
        Values captured;
        for (const Values &capture : captures)
          captured.push_back(own.load(capture[r]));
        result = outputFor(result, bias, captured);
      }
      if (result)
        own.store(result, rowsOut[r]);
      isBroken |= !result;
    }
  }
}

LogicalResult TileEmitter::run() {
  Location loc = op.getLoc();
  int64_t size = shape.ks.front(), depth = op.getDepth();
  Value panel = index.div(op.getColumn(), index.constant(panelWidth));
  Value step = index.add(index.mul(panel, index.constant(shape.k)),
                         index.mul(op.getStart(), index.constant(shape.k / size)));
  weights = index.add(index.mul(step, index.constant(panelWidth)),
                      index.rem(op.getColumn(), index.constant(panelWidth)));
  inputs = views().of(op.getInput(), op.getInput().getType().getRank() - op.getContract());
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
  Values sums(rows * (columns / lanes), zero);
  auto startIs = [&](int64_t k) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, op.getStart(),
                                 index.constant(k));
  };
  auto load = [&] { return forColumns([&](int64_t count) { return loadSums(count); }); };
  auto finishPart = [&](bool isLastPart) {
    return forColumns([&](int64_t count) {
      finish(sums, count, isLastPart);
      return Values();
    });
  };
  if (depth < size)
    sums = choose(startIs(0), [&] { return sums; }, load);
  sums = contract(0, {}, index.constant(0), sums);
  if (depth < size)
    choose(
        startIs(size - depth), [&] { return finishPart(true); }, [&] { return finishPart(false); });
  else
    finishPart(true);
  return failure(isBroken);
}

LogicalResult attn::vectorizeLinearTiles(Operation *root, const CpuTarget &target) {
  SmallVector<LinearTileOp> tiles;
  root->walk([&](LinearTileOp op) { tiles.push_back(op); });
  for (LinearTileOp op : tiles) {
    auto shape = LinearShape::of(op, op.getInput(), op.getPanels(), op.getOut(), op.getContract());
    if (failed(shape))
      return failure();
    if (shape->ks.front() % op.getDepth() != 0)
      return op.emitOpError("expected a depth that divides ")
             << shape->ks.front() << ", but got " << op.getDepth();
    if (op.getColumns() % target.lanes != 0)
      return op.emitOpError("expected whole vectors of ")
             << target.lanes << " columns, but got " << op.getColumns();
    if (failed(TileEmitter(op, *shape, target.lanes).run()))
      return failure();
    op.erase();
  }
  return success();
}
