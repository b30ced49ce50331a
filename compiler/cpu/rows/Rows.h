// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels of rows on a CPU. Their tiles are written by compiler/kernels/TileRows.cpp.
#pragma once

#include "compiler/cpu/vectors/RowVectors.h"
#include "dialect/Choices.h"
#include "dialect/Scans.h"

namespace attn {

/// Replaces the tiles of rows in `root` by vector code.
mlir::LogicalResult vectorizeRowTiles(mlir::Operation *root, const CpuTarget &target);

/// Write the vector code of one tile before it. Other tiles have formulas that GPUs share
/// (compiler/kernels/rows).
void emitRound(RoundRowOp op, const RowVectors &rows);
void emitQuantize(QuantizeRowOp op, const RowVectors &rows);
void emitTopk(TopkRowOp op, const RowVectors &rows);
void emitScan(ScanRowOp op, const RowVectors &rows);
/// A rotary row whose pairs are neighbouring columns.
void emitNeighbours(RotaryRowOp op, const RowVectors &rows);

} // namespace attn
