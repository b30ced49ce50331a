// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elements that a score tile reads of biases and masks that are tensors, rows of keys at a
// time.
#pragma once

#include "compiler/cpu/attention/TileVectors.h"

namespace attn {

/// What a score reads of a tensor whose last axis is the keys', [..., query, ..., key].
struct RowRead {
  ElementOp element;
  llvm::SmallVector<mlir::Value> position; ///< Of the tile's first query and key.
  size_t queryAxis;
};

/// The elements that a tile's region reads so.
llvm::SmallVector<RowRead> rowReads(TileVectors &tile, ScoreTileOp op);

/// Brings the row of a query from the cache line after the tile's first key on: one in each step of
/// the products, since rows lie pages apart and come out of memory. A line of bytes lasts for a
/// whole tile of keys.
void prefetchRow(TileVectors &tile, const RowRead &read, ScoreTileOp op, mlir::Value query);

/// The elements of all keys and queries of the tile, [key][vector]. Lanes beyond the last query
/// repeat it.
llvm::SmallVector<mlir::Value> readRows(TileVectors &tile, const RowRead &read, ScoreTileOp op);

} // namespace attn
