// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few queries of a cache, whose positions are known only at run time: heads that share keys, keys
// in parts, masks that end with the last of them.
#include "test/unit/gpu/GpuAttentionTest.h"

#include "llvm/Support/FormatVariadic.h"

namespace attn::test {
namespace {

using Case = AttentionCase;
using Buffers = AttentionBuffers;

/// `tokens` queries of each of `group` heads, which share keys. What lies behind these is NaN.
Case decoding(int64_t tokens, int64_t group, int64_t keys, int64_t features, int64_t parts) {
  Case c = cross(tokens, keys, features, features);
  c.batch = 1, c.heads = group, c.sharesKeys = true, c.parts = parts;
  c.dynamicKeys = true, c.spareKeys = 3;
  return c;
}

/// The last query is as late as the last key, and sees `width` keys.
Case ended(Case c, int64_t width) {
  c.hooks = llvm::formatv(R"(mask {{
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %tokens = arith.constant {0} : index
        %before = arith.subi %keys, %tokens : index
        %last = arith.addi %i, %before : index
        %width = arith.constant {1} : index
        %first = arith.subi %last, %width : index
        %late = arith.cmpi sgt, %j, %first : index
        %early = arith.cmpi sle, %j, %last : index
        %live = arith.andi %late, %early : i1
        attn.yield %live : i1
      })",
                          c.queries, width);
  c.mask = [before = c.keys - c.queries, width](int64_t, int64_t i, int64_t j) {
    return j <= i + before && j > i + before - width;
  };
  return c;
}

Case toTheEnd(const Case &c) { return ended(c, 1 << 20); }

#define DECODING(FEATURES)                                                                         \
  TEST_P(GpuAttentionTest, DecodingOfHeadsOf##FEATURES) {                                          \
    runCase(decoding(1, 8, 203, FEATURES, 3));                                                     \
    runCase(toTheEnd(decoding(8, 8, 203, FEATURES, 2)));                                           \
    runCase(toTheEnd(decoding(16, 8, 203, FEATURES, 2)));                                          \
  }
DECODING(64)
DECODING(72)
DECODING(80)
DECODING(96)
DECODING(128)
DECODING(192)
DECODING(256)

TEST_P(GpuAttentionTest, TokensAndGroups) {
  for (auto [tokens, group] : {std::pair{1, 1}, {2, 3}, {7, 1}, {7, 3}, {16, 1}, {16, 3}}) {
    Case c = decoding(tokens, group, 203, 64, 3);
    c.batch = 2;
    runCase(toTheEnd(c));
  }
}

/// More rows than a tile has.
TEST_P(GpuAttentionTest, DecodingOfTwoTilesOfRows) {
  runCase(toTheEnd(decoding(13, 11, 203, 32, 2)));
}

/// Parts before the window have nothing to do, and some tiles of others.
TEST_P(GpuAttentionTest, DecodingInAWindow) {
  runCase(ended(decoding(1, 3, 700, 128, 4), 100));
  runCase(ended(decoding(7, 3, 700, 96, 3), 300));
  runCase(ended(decoding(16, 8, 700, 24, 3), 130));
}

/// Rings go round, and units follow each other.
TEST_P(GpuAttentionTest, DecodingOfManyKeys) {
  runCase(decoding(2, 3, 1601, 128, 2));
  runCase(toTheEnd(decoding(16, 5, 1100, 128, 2)));
}

TEST_P(GpuAttentionTest, DecodingOfFewKeysInManyParts) {
  for (int64_t keys : {1, 7, 64, 65})
    runCase(decoding(1, 8, keys, 64, 5));
  runCase(toTheEnd(decoding(7, 2, 7, 128, 5)));
}

TEST_P(GpuAttentionTest, DecodingWithoutParts) {
  runCase(toTheEnd(decoding(1, 4, 203, 64, 0)));
  runCase(toTheEnd(decoding(8, 3, 203, 80, 0)));
  runCase(decoding(16, 6, 203, 128, 0));
}

TEST_P(GpuAttentionTest, DecodingWithHooks) {
  runCase(causal(decoding(8, 4, 203, 128, 2)));
  runCase(causal(decoding(16, 5, 203, 96, 2)));
}

/// Heads with keys of their own, in rows of other widths than values.
TEST_P(GpuAttentionTest, DecodingOfHeadsWithOwnKeys) {
  Case c = cross(1, 203, 64, 48);
  c.parts = 2, c.dynamicKeys = true;
  runCase(toTheEnd(c));
}

/// A value that is not finite reaches the queries that see it, and no others, whatever its part.
TEST_P(GpuAttentionTest, DecodingOfAnythingBehindTheMask) {
  for (int64_t parts : {0, 3}) {
    Case c = stored(toTheEnd(decoding(8, 3, 300, 64, parts)));
    auto runner = compile(c);
    if (!runner)
      continue;
    Buffers in(c, 7), clean(c, 7);
    in.valueRow(0, 0, 297)[1] = inf, clean.valueRow(0, 0, 297)[1] = 0;
    in.run(*runner, 2);
    clean.run(*runner, 2);
    check(c, clean);
    for (int64_t h = 0; h < c.heads; ++h)
      for (int64_t m = 0; m < c.queries; ++m) {
        std::vector<double> weights = weightsOf(c, clean, 0, h, m);
        for (int64_t d = 0; d < c.valueFeatures; ++d) {
          if (d == 1 && m + 292 >= 297) {
            ASSERT_EQ(in.outRow(0, h, m)[d], inf) << h << " " << m;
            continue;
          }
          auto [expected, magnitude] = expectedOf(c, clean, weights, 0, h, d);
          ASSERT_NEAR(in.outRow(0, h, m)[d], expected, 0x1p-7 * magnitude) << h << " " << m;
        }
      }
  }
}

/// The kernel is the one that is meant.
TEST_P(GpuAttentionTest, DecodingIsOnHoppersPath) {
  if (std::getenv("ATTN_PTX_FOLDER"))
    GTEST_SKIP();
  bool isHopper = llvm::StringRef(GetParam().chip) == "sm_90a";
  for (int64_t tokens : {1, 8, 16}) {
    auto runner = compile(stored(toTheEnd(decoding(tokens, 8, 300, 128, 2))));
    ASSERT_TRUE(runner);
    EXPECT_EQ(llvm::StringRef(runner->ptx).contains("wgmma.mma_async"), isHopper) << tokens;
    EXPECT_EQ(llvm::StringRef(runner->ptx).contains("cp.async.bulk.tensor"), isHopper) << tokens;
  }
}

} // namespace
} // namespace attn::test
