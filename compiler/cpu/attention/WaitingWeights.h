// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Online softmax over a few keys at a time, whose weights wait for those of the whole tile.
#pragma once

#include "compiler/cpu/attention/KeyTiles.h"

namespace attn {

/// Weights of a few keys at a time, which wait for those of the whole tile: sums go to memory and
/// back once, and scores stay where they are read soonest. Those that wait are multiplied before
/// where a maximum grew too much, where a mask empties the next keys, and where values that are not
/// finite are to be passed over.
void tileWaiting(AttentionTiling &tiling, mlir::Value keyTile, const ValueTile &valueTile,
                 mlir::Value from, mlir::Value keys, int64_t queries);

} // namespace attn
