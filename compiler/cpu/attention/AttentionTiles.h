// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: the vector code of each tile op, before the op, which is left to be
// erased. A tile that cannot be written is an error, reported at the op.
#pragma once

#include "compiler/cpu/attention/TileVectors.h"

namespace attn {

/// Write the tiles of every attention (VectorizeQueries.cpp, VectorizeScores.cpp,
/// VectorizeSoftmax.cpp, VectorizeValues.cpp, VectorizeOutput.cpp).
mlir::LogicalResult vectorize(TileVectors &tile, QueryTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, ResetTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, ScoreTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, SoftmaxTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, FactorTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, RescaleTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, PackTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, ValueTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, OutputTileOp op);

/// Write those of products of bf16 (VectorizePairs.cpp).
mlir::LogicalResult vectorize(TileVectors &tile, RoundKeysTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, TurnValuesTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, PairTileOp op);

/// Writes that of masks that are tensors (VectorizeRanges.cpp).
mlir::LogicalResult vectorize(TileVectors &tile, RangeTileOp op);

/// Write those of what is returned beside the output (VectorizeReturned.cpp).
mlir::LogicalResult vectorize(TileVectors &tile, StoreTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, WeightRowsOp op);
mlir::LogicalResult vectorize(TileVectors &tile, LseTileOp op);

} // namespace attn
