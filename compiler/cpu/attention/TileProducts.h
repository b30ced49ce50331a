// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of a block's products: of weights with values, and of pairs of bf16. `queries`: the
// block's lanes.
#pragma once

#include "compiler/cpu/attention/KeyTiles.h"

namespace attn {

/// Up to `most` keys of a score tile: without a rest where another size leaves one. Where the
/// number is not known, a divisor of AttentionShape::tileKeys.
int64_t keysOfGroup(mlir::Value keys, int64_t most);

/// body(from, size, repeats) for groups of keys. Where their number is not known, the last group is
/// as large as the others, with the last key repeated: a tile has room for it.
void forKeyGroups(AttentionTiling &tiling, mlir::Value keys, int64_t size,
                  llvm::function_ref<void(mlir::Value from, int64_t size, bool repeats)> body);

/// Products of pairs, words [from, to): rows of `a` with the block's columns of `b`. Behind the
/// last row, `a` and `into` have room for a whole group. `selects`: where `b` is not 0.
void tilePairs(AttentionTiling &tiling, mlir::Value a, mlir::Value b, mlir::Value into,
               mlir::Value rows, mlir::Value from, mlir::Value to, int64_t queries, bool accumulate,
               bool selects = false);

/// Sums of no keys.
void tileZeros(AttentionTiling &tiling, int64_t queries);

/// Weights of all keys of the tile with their values. Where `isLive` does not hold, a mask empties
/// some of them. `rescale`: what has been summed first.
void tileValues(AttentionTiling &tiling, mlir::Value weights, const ValueTile &tile,
                int64_t queries, bool rescale, mlir::Value isLive);

} // namespace attn
