// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether tiles of a mask are empty, before anything is cut into tiles: some are looked at, of the
// sizes that kernels have, at the sizes that are known or at the bounds of those that are not.
#pragma once

#include "dialect/AttnDialect.h"

namespace attn {

/// What was found of a mask.
struct MaskTiles {
  bool isKnown = false;      ///< whether the bounds of its formula are known when compiling
  bool isSomeEmpty = false;  ///< one that was looked at is known to be empty
  bool isSomeUntold = false; ///< one that was looked at is empty, and not known to be
  int64_t queries, keys;     ///< of a tile
};

/// Looks at tiles of a mask of `op`, which need not be the op's own. `isExact`: what cannot be told
/// by the formula's bounds is tried pair by pair, for a few tiles.
MaskTiles lookAtTiles(AttentionOp op, mlir::Region &mask, bool isExact);

/// The fewest keys after which a part of a mask's formula repeats, if it asks for a remainder.
std::optional<int64_t> shortestPeriod(mlir::Region &mask);

/// Gives the reasons why no tile of the op's mask is passed by, where that is so.
void explainMask(AttentionOp op);

} // namespace attn
