// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on rows. A warp has rows, or pieces of rows where those are few, and its threads
// neighbouring columns: tiles to the formulas of compiler/kernels/rows, or to those that only warps
// have.
#include "compiler/gpu/rows/Rows.h"
#include "compiler/gpu/rows/WarpRow.h"
#include "compiler/gpu/threads/Warp.h"
#include "compiler/kernels/FloatArithmetic.h"
#include "compiler/kernels/TileRows.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "compiler/kernels/rows/RowKernels.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

static void emitMap(MapRowOp op, OpBuilder &builder) {
  Location loc = op.getLoc();
  Warp warp(builder, loc);
  warp.forEach(warp.index.dim(op.getOut(), 0), [&](Value column) {
    SmallVector<Value> elements;
    for (Value input : op.getInputs())
      elements.push_back(memref::LoadOp::create(builder, loc, input, column));
    Value result = inlineHook(builder, op.getBody(), elements, {}, {});
    memref::StoreOp::create(builder, loc, result, op.getOut(), column);
  });
}

static void emitRotary(RotaryRowOp op, OpBuilder &builder) {
  Warp warp(builder, op.getLoc());
  FloatArithmetic math(builder, op.getLoc());
  const IndexBuilder &index = warp.index;
  Value pairs = index.dim(op.getCos(), 0), two = index.constant(2), one = index.constant(1);
  warp.forEach(pairs, [&](Value pair) {
    Value first = op.getInterleaved() ? index.mul(pair, two) : pair,
          second = index.add(first, op.getInterleaved() ? one : pairs);
    Value a = warp.load(op.getInput(), first), b = warp.load(op.getInput(), second);
    Value cos = warp.load(op.getCos(), pair), sin = warp.load(op.getSin(), pair);
    Value negated = math.neg(math.mul(b, sin));
    warp.store(math.fma(a, cos, negated), op.getOut(), first);
    warp.store(math.fma(b, cos, math.mul(a, sin)), op.getOut(), second);
  });
  Value turned = index.mul(pairs, two);
  int64_t all = cast<MemRefType>(op.getOut().getType()).getDimSize(0);
  if (2 * cast<MemRefType>(op.getCos().getType()).getDimSize(0) == all)
    return;
  warp.forEach(index.sub(index.constant(all), turned), [&](Value other) {
    Value column = index.add(turned, other);
    warp.store(warp.load(op.getInput(), column), op.getOut(), column);
  });
}

static LogicalResult emitTile(RowTileOpInterface tile, OpBuilder &builder) {
  if (auto quantize = dyn_cast<QuantizeRowOp>(*tile))
    emitWarpRow(quantize, builder);
  else if (auto topk = dyn_cast<TopkRowOp>(*tile))
    emitWarpRow(topk, builder);
  else if (auto map = dyn_cast<MapRowOp>(*tile))
    emitMap(map, builder);
  else if (auto rotary = dyn_cast<RotaryRowOp>(*tile))
    emitRotary(rotary, builder);
  else
    return emitRow(tile, WarpRow(builder, tile->getLoc()));
  return success();
}

static LogicalResult emitRows(Operation *kernel, const TilingContext &workers, ValueRange) {
  if (auto group = dyn_cast<GroupKernelOp>(kernel)) {
    emitWarpGroup(group, workers);
    return success();
  }
  // Four of its vectors, the piece of a reduction, are a warp's columns.
  static constexpr VectorUnit warp{/*lanes=*/Warp::lanes / 4};
  tileRows(kernel, TilingContext{warp, workers.thread, workers.threads, workers.interleaves});
  for (RowTileOpInterface tile : rowTilesIn(kernel->getParentOp())) {
    OpBuilder builder(tile);
    if (failed(emitTile(tile, builder)))
      return failure();
    tile->erase();
  }
  return success();
}

KernelLaunches attn::launchesOfRows(Operation *kernel) {
  if (isa<RoundKernelOp>(kernel)) // rows are rounded where they are multiplied
    return SmallVector<KernelLaunch>{};
  KernelLaunch launch;
  launch.workers = WorkerKind::Warp;
  launch.emit = emitRows;
  return SmallVector<KernelLaunch>{launch};
}
