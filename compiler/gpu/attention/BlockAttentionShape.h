// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How attention on tensor cores is cut into tiles (BlockAttention.cpp).
#pragma once

#include "compiler/gpu/attention/Attention.h"

namespace attn {

/// Rows of queries of a warp, and of a block.
constexpr int64_t warpRows = 16, blockRows = blockThreads / 32 * warpRows;
/// The bytes of shared memory that any GPU gives without being asked.
constexpr int64_t usualSharedBytes = 48 << 10;

/// Whether queries stay in shared memory, as those of many features do; else they go to registers.
bool queriesStay(int64_t features);
/// The bytes of shared memory for a block's queries, keys and values; values come where queries
/// were that went to registers.
int64_t sharedBytesOf(int64_t tileKeys, int64_t features, int64_t valueFeatures);
/// Keys of a tile, a multiple of 8; of proportional scores see ScoreElements.
int64_t tileKeysOf(int64_t features, int64_t valueFeatures, std::optional<int64_t> keyCount,
                   bool isProportional, bool isMasked);

} // namespace attn
