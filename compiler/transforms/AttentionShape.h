// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an attention is cut into tiles, and the scratch that a thread needs for one. Lanes of a
// vector are queries: a block of `queries` of them is transposed once, scores stand as
// [key][query], and no sum or maximum ever crosses lanes.
#pragma once

#include "dialect/AttnDialect.h"
#include <algorithm>
#include <cstdint>

namespace attn {

struct AttentionShape {
  static constexpr int64_t queries = 48; ///< of a block: three AVX-512 vectors, six AVX2 ones
  static constexpr int64_t stripKeys =
      1024; ///< up to so many keys the whole strip is kept: it fits the L2 cache
  static constexpr int64_t tileKeys =
      64; ///< at most, of values at a time: they and their weights fit the L1 cache

  int64_t keys;           ///< of a strip
  bool online;            ///< several strips: maximum, sum and output are carried along
  int64_t valueKeys;      ///< of packed values
  int64_t packedFeatures; ///< of a row of packed values: whole vectors
  int64_t stripAt;        ///< floats from the start of the scratch: scores [keys][queries]
  int64_t queryAt;        ///< the transposed query block [features][queries]
  int64_t statisticsAt;   ///< [4][queries], see dialect/tiles/Attention.td
  int64_t valueAt;        ///< packed values [valueKeys][packedFeatures]
  int64_t floats;         ///< all of it, a multiple of 16

  /// Whether all scores may stand in one strip before any weight is known: tiles of keys are
  /// visited one by one under a mask, so that empty ones are passed by, and where more than the
  /// output is wanted of them.
  template <typename AttentionOrKernel> static bool mayBeOneStrip(AttentionOrKernel op) {
    return op.getMask().empty() && op.getSink().empty() && op.getFurther().empty() &&
           op.getNormaliser() == Normaliser::Softmax;
  }

  /// `keyCount` is -1 where it is known only at run time.
  static AttentionShape of(int64_t keyCount, int64_t features, int64_t valueFeatures,
                           bool mayBeOneStrip) {
    AttentionShape shape;
    shape.online = !mayBeOneStrip || keyCount < 0 || keyCount > stripKeys;
    shape.valueKeys = keyCount < 0 ? tileKeys : evenTile(keyCount);
    shape.keys = shape.online ? shape.valueKeys : keyCount;
    shape.packedFeatures = (valueFeatures + 15) / 16 * 16;
    shape.stripAt = 0;
    shape.queryAt = shape.keys * queries;
    shape.statisticsAt = shape.queryAt + features * queries;
    shape.valueAt = shape.statisticsAt + 4 * queries;
    shape.floats = shape.valueAt + shape.valueKeys * shape.packedFeatures;
    return shape;
  }

  /// Tiles of about equal size, a multiple of 8.
  static int64_t evenTile(int64_t keyCount) {
    int64_t tiles = std::max<int64_t>((keyCount + tileKeys - 1) / tileKeys, 1);
    return std::max<int64_t>(((keyCount + tiles - 1) / tiles + 7) / 8 * 8, 8);
  }
};

} // namespace attn
