// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering of least estimated cost is the one that was measured to be fastest: a whole strip
// for up to a tile of keys, online softmax for more, unfused for none.
#include "compiler/transforms/AttentionShape.h"
#include <gtest/gtest.h>

namespace attn::test {
namespace {

AttentionProblem problem(int64_t queries, int64_t keys, int64_t features, int64_t values) {
  return {queries,
          keys,
          features,
          values,
          keys,
          /*mayBeOneStrip=*/true,
          /*isMasked=*/false,
          /*weightsMayWait=*/true};
}

TEST(LoweringTest, TheCheapestIsTheFastestMeasured) {
  for (int64_t queries : {-1, 9, 48, 50, 64, 197, 384, 1024, 16384})
    for (int64_t keys : {1, 2, 17, 50, 63, 64, 65, 66, 80, 96, 128, 129, 197, 577, 1024, 16384})
      for (int64_t features : {1, 8, 32, 40, 64, 80, 128, 256})
        for (int64_t values : {1, 8, 32, 64, 128, 256})
          for (int instructions = 0; instructions < 3; ++instructions) {
            AttentionProblem p = problem(queries, keys, features, values);
            p.pairs = instructions > 0, p.inTiles = instructions > 1;
            EXPECT_EQ(chooseLowering(p),
                      keys <= 64 ? AttentionLowering::Strip : AttentionLowering::Online)
                << queries << " queries, " << keys << " keys, " << features << " -> " << values;
          }
}

TEST(LoweringTest, OthersCostMore) {
  for (int64_t keys : {197, 1024}) {
    AttentionProblem p = problem(keys, keys, 64, 64);
    double online = estimateLowering(p, AttentionLowering::Online);
    EXPECT_GT(estimateLowering(p, AttentionLowering::Strip), 1.02 * online);
    EXPECT_GT(estimateLowering(p, AttentionLowering::Unfused), 1.02 * online);
  }
  AttentionProblem few = problem(50, 50, 32, 32);
  double strip = estimateLowering(few, AttentionLowering::Strip);
  EXPECT_GT(estimateLowering(few, AttentionLowering::Online), strip);
  EXPECT_GT(estimateLowering(few, AttentionLowering::Unfused), strip);
}

} // namespace
} // namespace attn::test
