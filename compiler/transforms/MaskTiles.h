// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether tiles of a mask are empty, before anything is cut into tiles: some are looked at, of the
// sizes that kernels have, at the sizes that are known or at the bounds of those that are not.
#pragma once

#include "dialect/AttnDialect.h"

namespace attn {

/// What was found of a mask.
struct MaskTiles {
  bool isKnown = false;       ///< whether all that was looked at is known when compiling
  bool isSomeEmpty = false;   ///< one that was looked at is known to be empty
  bool isSomePartial = false; ///< of one that was looked at it is not known that it is full
  bool isSomeUntold = false;  ///< one that was looked at is empty, and its bounds do not say so
  bool isSomeUnclear = false; ///< of a pair that was looked at, it is not known whether it is live
  bool isEachTried = false;   ///< of each that may be live, a pair was found that is
  int64_t queries, keys;      ///< of a tile
};

/// Looks at tiles of a mask of `op`, which need not be the op's own. `isExact`: where the bounds of
/// a tile do not say that it is empty, its pairs are tried.
MaskTiles lookAtTiles(AttentionOp op, mlir::Region &mask, bool isExact);

/// Gives the reasons why no tile of the op's mask is passed by, where that is so.
void explainMask(AttentionOp op);

} // namespace attn
