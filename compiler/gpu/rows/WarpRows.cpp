// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on rows. A warp has rows, or pieces of rows where those are few, and its threads
// neighbouring columns: tiles to the formulas of compiler/kernels/rows, or to those that only warps
// have.
#include "compiler/gpu/rows/Rows.h"
#include "compiler/gpu/rows/WarpRow.h"
#include "compiler/kernels/TileRows.h"
#include "compiler/kernels/rows/RowKernels.h"

using namespace mlir;
using namespace attn;

static LogicalResult emitTile(RowTileOpInterface tile, OpBuilder &builder) {
  if (auto quantize = dyn_cast<QuantizeRowOp>(*tile))
    emitWarpRow(quantize, builder);
  else if (auto topk = dyn_cast<TopkRowOp>(*tile))
    emitWarpRow(topk, builder);
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
