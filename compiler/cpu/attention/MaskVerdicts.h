// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a mask's tiles are, in words: for those who read the remarks.
#pragma once

#include "dialect/AttnDialect.h"
#include <string>

namespace attn {

/// `; of 4 x 3 tiles 3 are empty, 2 full, 7 tested` for a mask whose tiles begin at `queries` and
/// `keys`, their ends behind the last, with the operations of those that are not empty; without
/// them, where there are too many, or where the mask reads tensors, that tiles are judged when
/// running. Nothing without a mask, or where nobody asked for remarks or counts. Leaves
/// `attributes::liveShare` on the kernel, which TilePass puts on its attn.cost.
std::string describeVerdicts(AttentionKernelOp op, llvm::ArrayRef<int64_t> queries,
                             llvm::ArrayRef<int64_t> keys);

/// So many tiles are judged at most when compiling, along both axes together.
constexpr int64_t mostJudgedTiles = 1 << 16;

/// The starts of tiles of `size` among `count`, and `count`; none where that is not known, or where
/// they are too many to be judged.
llvm::SmallVector<int64_t> tileStarts(std::optional<int64_t> count, int64_t size);

} // namespace attn
