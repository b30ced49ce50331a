// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sums += weights * values of a tile, for 16 rows of a warp (BlockAttention.cpp).
#pragma once

#include "compiler/gpu/threads/SharedTile.h"

namespace attn {

/// Multiplies weights with the values of one tile.
class ValueProducts {
public:
  using Value = mlir::Value;
  using Words = llvm::ArrayRef<llvm::SmallVector<Value>>; ///< of weights: TensorCores::wordsOf

  ValueProducts(const TensorCores &cores, const SharedTile &tile) : cores(cores), tile(tile) {}

  /// By mma: of an infinite value or NaN, a weight of 0 makes NaN.
  void multiply(Words weights, llvm::MutableArrayRef<Value> sums) const;
  /// Whether there is none in the whole tile; the same for all of a warp.
  Value areFinite() const;
  /// With 0 * x = 0 for any x: key by key on FMA units, slow, and seldom.
  void multiplyLive(Words weights, llvm::MutableArrayRef<Value> sums) const;

private:
  const TensorCores &cores;
  const SharedTile &tile;
};

} // namespace attn
