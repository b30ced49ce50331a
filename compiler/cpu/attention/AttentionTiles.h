// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: the vector code of each tile op, before the op, which is left to be
// erased. A tile that cannot be written is an error, reported at the op.
#pragma once

#include "compiler/cpu/attention/TileVectors.h"

namespace attn {

// VectorizeQueries.cpp, VectorizeScores.cpp, VectorizeSoftmax.cpp, VectorizeValues.cpp,
// VectorizeOutput.cpp: the tiles of every attention
mlir::LogicalResult vectorize(TileVectors &tile, QueryTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, ResetTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, ScoreTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, SoftmaxTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, FactorTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, RescaleTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, PackTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, ValueTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, OutputTileOp op);

// VectorizePairs.cpp: those of products of bf16
mlir::LogicalResult vectorize(TileVectors &tile, RoundKeysTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, TurnValuesTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, PairTileOp op);

// VectorizeRanges.cpp: of masks that are tensors
mlir::LogicalResult vectorize(TileVectors &tile, RangeTileOp op);

// VectorizeReturned.cpp: of what is returned beside the output
mlir::LogicalResult vectorize(TileVectors &tile, StoreTileOp op);
mlir::LogicalResult vectorize(TileVectors &tile, WeightRowsOp op);
mlir::LogicalResult vectorize(TileVectors &tile, LseTileOp op);

} // namespace attn
