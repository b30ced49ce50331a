// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, of rows: the formulas that CPUs and GPUs share. compiler/kernels/TileRows.cpp
// creates the tiles.
#pragma once

#include "compiler/kernels/rows/RowLanes.h"
#include "dialect/AttnDialect.h"
#include "llvm/ADT/SmallVector.h"

namespace attn {

/// The tiles of rows in `root`, in their order.
llvm::SmallVector<RowTileOpInterface> rowTilesIn(mlir::Operation *root);

/// Emits the code of a tile whose formula is here, at the insertion point of the lanes. Fails after
/// an error, which has been reported.
mlir::LogicalResult emitRow(RowTileOpInterface tile, const RowLanes &lanes);

/// The same, for each kind of tile.
mlir::LogicalResult emitRow(NormRowOp op, const RowLanes &lanes);
mlir::LogicalResult emitRow(SoftmaxRowOp op, const RowLanes &lanes);
mlir::LogicalResult emitRow(ReduceRowOp op, const RowLanes &lanes);
mlir::LogicalResult emitRow(MapRowOp op, const RowLanes &lanes);
/// Pairs of neighbouring columns need lanes that are not vectors.
mlir::LogicalResult emitRow(RotaryRowOp op, const RowLanes &lanes);

/// Copies the columns behind the pairs of a row.
void copyBehindPairs(RotaryRowOp op, const RowLanes &lanes);

} // namespace attn
