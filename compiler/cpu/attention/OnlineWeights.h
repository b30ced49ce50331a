// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights of a tile's scores while the next ones are computed (ScoreTileOp::getWeighs).
#pragma once

#include "compiler/cpu/attention/TileVectors.h"

namespace attn {

/// Writes the weights of the keys above the tile, while the sums of the first steps of `products`
/// are computed: as many steps as those keys have vectors of scores. `lanes`: where each vector of
/// queries begins. Returns the step after them.
mlir::Value weighAbove(TileVectors &tile, ScoreTileOp op, llvm::ArrayRef<mlir::Value> lanes,
                       const RowProducts &products, llvm::SmallVector<mlir::Value> &sums);

/// Where a maximum grew too much, makes weights above the tile those of the larger one.
void raiseMaxima(TileVectors &tile, ScoreTileOp op, llvm::ArrayRef<mlir::Value> lanes,
                 llvm::ArrayRef<mlir::Value> before, llvm::ArrayRef<mlir::Value> maxima);

} // namespace attn
