// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tile of scores makes of a sum: the hooks in its region.
#pragma once

#include "compiler/cpu/attention/AttentionTiling.h"

namespace attn {

/// How far a pair's score is taken.
enum class Stage { Raw, Biased, Capped, Weight, MaskedWeight };

/// The positions that a tile's region counts from: of the batch dims, of the block's first query
/// and its last one.
llvm::SmallVector<mlir::Value> queryPositions(AttentionTiling &tiling);

/// A hook's value for its own arguments and positions, computed for a term.
mlir::Value inlined(AttentionTiling &tiling, AttentionTerm term, mlir::Region &hook,
                    mlir::ValueRange own, mlir::ValueRange positions);

/// Fills a tile's region: score, bias, cap, weight, mask, in this order, up to `stage`.
void emitScore(AttentionTiling &tiling, mlir::Region &region, Stage stage);

} // namespace attn
