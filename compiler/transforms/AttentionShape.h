// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an attention is cut into tiles, and the scratch that a thread needs for one. Lanes of a
// vector are queries: a block of `queries` of them is transposed once, scores stand as
// [key][query], and no sum or maximum ever crosses lanes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace attn {

struct AttentionShape {
  static constexpr int64_t queries = 48; ///< of a block: three AVX-512 vectors, six AVX2 ones
  static constexpr int64_t stripKeys =
      1024; ///< up to so many keys the whole strip is kept: it fits the L2 cache
  static constexpr int64_t onlineKeys = 256; ///< keys of a tile of the online form

  int64_t keys;         ///< of a tile; the whole strip's where not online
  bool online;          ///< maximum, sum and output are carried from tile to tile
  int64_t stripAt;      ///< floats from the start of the scratch: scores [keys][queries]
  int64_t queryAt;      ///< the transposed query block [features][queries]
  int64_t statisticsAt; ///< [4][queries], see dialect/tiles/Attention.td
  int64_t floats;       ///< all of it, a multiple of 16

  /// `keyCount` is -1 where it is known only at run time.
  static AttentionShape of(int64_t keyCount, int64_t features) {
    AttentionShape shape;
    shape.online = keyCount < 0 || keyCount > stripKeys;
    shape.keys = shape.online ? onlineKeys : keyCount;
    shape.stripAt = 0;
    shape.queryAt = shape.keys * queries;
    shape.statisticsAt = shape.queryAt + features * queries;
    shape.floats = shape.statisticsAt + 4 * queries;
    return shape;
  }
};

} // namespace attn
