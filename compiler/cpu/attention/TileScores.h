// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of a block's statistics, scores and weights. `queries`: the block's lanes.
#pragma once

#include "compiler/cpu/attention/ScoreStages.h"

namespace attn {

/// The statistics before the first key: the sink's, where there is one.
void tileReset(AttentionTiling &tiling, int64_t queries);

/// The sums of a tile's scores, where they come before these.
void tileDots(AttentionTiling &tiling, mlir::Value keyTile, mlir::Value scores, mlir::Value keys,
              int64_t queries);

/// Whether scores become weights while the next ones are computed: with 32 registers there are some
/// left, and a multiply-add has other units beside it. Sums of pairs are in the strip already.
bool canWeigh(AttentionTiling &tiling);

/// The scores of `keys` keys from `firstKey` on, and of softmax the maxima. `weighs`: they become
/// weights, too.
void tileScores(AttentionTiling &tiling, mlir::Value keyTile, mlir::Value scores,
                mlir::Value firstKey, mlir::Value keys, int64_t queries, Stage stage,
                bool weighs = false);

/// The weights of scores, and their sums.
void tileSoftmax(AttentionTiling &tiling, mlir::Value scores, mlir::Value weights, mlir::Value keys,
                 int64_t queries, bool online);

} // namespace attn
