// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, of rows: tiles to the formulas of compiler/kernels/rows, on vectors, or to
// those that only vectors have.
#include "compiler/cpu/rows/Rows.h"
#include "compiler/kernels/KernelRemarks.h"
#include "compiler/kernels/rows/RowKernels.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// Gathers are of 32 and 64 bits, and AVX2 has no scatters.
static void remarkApart(MapRowOp op, const CpuTarget &target) {
  auto isApart = [&](Value row) {
    bool isNarrow = cast<MemRefType>(row.getType()).getElementTypeBitWidth() < 32;
    return (isNarrow || !target.avx512) && strideOf(row) != 1 && strideOf(row) != 0;
  };
  if (isApart(op.getOut()) || llvm::any_of(op.getInputs(), isApart))
    remarkScalar(op, target.name, "vectors are only of elements that lie side by side");
}

static LogicalResult emitTile(RowTileOpInterface tile, const RowVectors &rows) {
  if (auto map = dyn_cast<MapRowOp>(*tile))
    remarkApart(map, rows.target);
  if (auto round = dyn_cast<RoundRowOp>(*tile))
    emitRound(round, rows);
  else if (auto quantize = dyn_cast<QuantizeRowOp>(*tile))
    emitQuantize(quantize, rows);
  else if (auto topk = dyn_cast<TopkRowOp>(*tile))
    emitTopk(topk, rows);
  else if (auto scan = dyn_cast<ScanRowOp>(*tile))
    emitScan(scan, rows);
  else if (auto rotary = dyn_cast<RotaryRowOp>(*tile); rotary && rotary.getInterleaved())
    emitNeighbours(rotary, rows);
  else
    return emitRow(tile, rows);
  return success();
}

LogicalResult attn::vectorizeRowTiles(Operation *root, const CpuTarget &target) {
  for (RowTileOpInterface tile : rowTilesIn(root)) {
    OpBuilder builder(tile);
    if (failed(emitTile(tile, RowVectors(builder, tile->getLoc(), target))))
      return failure();
    tile->erase();
  }
  return success();
}
