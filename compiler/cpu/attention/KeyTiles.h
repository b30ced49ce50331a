// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of keys and values as they are multiplied, and what a mask says of them.
#pragma once

#include "compiler/cpu/attention/AttentionTiling.h"
#include "compiler/transforms/MaskIntervals.h"

namespace attn {

/// A tile of values as they are multiplied, with what is known of them then.
struct ValueTile {
  mlir::Value rows, keys;
  mlir::Value areFinite; ///< Of pairs.
};

/// Loops over parts of `size`; where it is known how many there are, the last one may have code of
/// its own.
void forParts(AttentionTiling &tiling, mlir::Value all, int64_t size,
              llvm::function_ref<void(mlir::Value from, mlir::Value count)> part);

/// The same over the tiles of all keys.
inline void forKeyTiles(AttentionTiling &tiling,
                        llvm::function_ref<void(mlir::Value from, mlir::Value keys)> tile) {
  forParts(tiling, tiling.keyCount, tiling.shape.tile, tile);
}

/// Keys as they are multiplied.
mlir::Value keysOf(AttentionTiling &tiling, mlir::Value from, mlir::Value count);

/// Values, brought together where that helps.
ValueTile valuesOf(AttentionTiling &tiling, mlir::Value from, mlir::Value count);

/// What the mask says of some queries and `keys` keys from `firstKey` on.
Interval boundTile(AttentionTiling &tiling, mlir::Value firstQuery, mlir::Value lastQuery,
                   mlir::Value firstKey, mlir::Value keys);

/// The same for the queries of the group.
Interval boundGroup(AttentionTiling &tiling, mlir::Value firstKey, mlir::Value keys);

/// if (verdict) yes() else no(), where a mask gave the verdict.
void chooseByMask(AttentionTiling &tiling, mlir::Value verdict, llvm::function_ref<void()> yes,
                  llvm::function_ref<void()> no = {});

} // namespace attn
