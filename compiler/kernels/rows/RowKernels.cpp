// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a tile of a row to its formula.
#include "compiler/kernels/rows/RowKernels.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

SmallVector<RowTileOpInterface> attn::rowTilesIn(Operation *root) {
  SmallVector<RowTileOpInterface> tiles;
  root->walk([&](RowTileOpInterface tile) { tiles.push_back(tile); });
  return tiles;
}

LogicalResult attn::emitRow(RowTileOpInterface tile, const RowLanes &lanes) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(tile)
      .Case<NormRowOp, SoftmaxRowOp, ReduceRowOp, MapRowOp, RotaryRowOp>(
          [&](auto op) { return emitRow(op, lanes); });
}
