// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of whole sequences on a GPU's tensor cores; few queries of a cache are in
// GpuDecodingTest.cpp.
#include "test/unit/gpu/GpuAttentionTest.h"

namespace attn::test {
namespace {

using Case = AttentionCase;
using Buffers = AttentionBuffers;

INSTANTIATE_TEST_SUITE_P(Paths, GpuAttentionTest,
                         testing::Values(Path{"f32", "sm_80", false}, Path{"bf16", "sm_80", true},
                                         Path{"hopper", "sm_90a", true}),
                         [](const auto &info) { return info.param.name; });

/// f16 differs in few instructions.
class GpuHalfAttentionTest : public GpuAttentionTest {};
INSTANTIATE_TEST_SUITE_P(Paths, GpuHalfAttentionTest,
                         testing::Values(Path{"f32", "sm_80", false, "f16"},
                                         Path{"f16", "sm_80", true, "f16"},
                                         Path{"hopper", "sm_90a", true, "f16"}),
                         [](const auto &info) { return info.param.name; });

Case head(int64_t rows, int64_t features) {
  Case c = shape(rows, features);
  c.heads = 1;
  return c;
}

TEST_P(GpuAttentionTest, HeadsOf64) { runCase(head(131, 64)); }
TEST_P(GpuAttentionTest, HeadsOf72) { runCase(head(67, 72)); }
TEST_P(GpuAttentionTest, HeadsOf80) { runCase(head(131, 80)); }
TEST_P(GpuAttentionTest, HeadsOf96) { runCase(head(67, 96)); }
TEST_P(GpuAttentionTest, HeadsOf128) { runCase(head(131, 128)); }
TEST_P(GpuAttentionTest, HeadsOf192) { runCase(head(67, 192)); }
TEST_P(GpuAttentionTest, HeadsOf256) { runCase(head(67, 256)); }
TEST_P(GpuAttentionTest, CausalHeadsOf64) { runCase(causal(head(131, 64))); }
TEST_P(GpuAttentionTest, CausalHeadsOf72) { runCase(causal(head(67, 72))); }
TEST_P(GpuAttentionTest, CausalHeadsOf80) { runCase(causal(head(67, 80))); }
TEST_P(GpuAttentionTest, CausalHeadsOf96) { runCase(causal(head(67, 96))); }
TEST_P(GpuAttentionTest, CausalHeadsOf128) { runCase(causal(head(67, 128))); }
TEST_P(GpuAttentionTest, CausalHeadsOf192) { runCase(causal(head(67, 192))); }
TEST_P(GpuAttentionTest, CausalHeadsOf256) { runCase(causal(head(67, 256))); }

TEST_P(GpuHalfAttentionTest, HeadsOf72) { runCase(head(67, 72)); }
TEST_P(GpuHalfAttentionTest, CausalHeadsOf64) { runCase(causal(head(131, 64))); }

/// A mask of positions; `live` says the same.
Case masked(Case c, std::string hooks, bool (*live)(int64_t h, int64_t i, int64_t j)) {
  c.hooks = std::move(hooks), c.mask = live;
  return c;
}

/// Tiles before the window and behind the query are empty, some between are full.
/// Tiles of keys that go round the stages, the last one short.
Case tiles(int64_t keys, int64_t features) {
  Case c = cross(70, keys, features, features);
  c.batch = c.heads = 1;
  return c;
}

TEST_P(GpuAttentionTest, TilesOf64) { runCase(tiles(500, 64)); }
TEST_P(GpuAttentionTest, TilesOf72) { runCase(tiles(230, 72)); }
TEST_P(GpuAttentionTest, TilesOf128) { runCase(tiles(500, 128)); }
TEST_P(GpuAttentionTest, TilesOf192) { runCase(tiles(230, 192)); }
TEST_P(GpuAttentionTest, TilesOf256) { runCase(tiles(230, 256)); }
// Three groups of Hopper's, whose tiles have 192 rows: one tile of keys, several, and rows that end
// within a group.
TEST_P(GpuAttentionTest, ThreeGroupsOfRows) {
  for (auto [queries, keys, features, valueFeatures] :
       {std::tuple(185, 300, 64, 64), {570, 130, 40, 56}, {192, 100, 56, 64}}) {
    Case c = cross(queries, keys, features, valueFeatures);
    c.batch = c.heads = 1;
    runCase(c);
  }
}
TEST_P(GpuAttentionTest, ManyKeysOfManyHeads) { runCase(causal(cross(140, 400, 64, 32))); }

} // namespace

void GpuAttentionTest::checkBehindTheMask() {
  Case c = stored(causal(tiles(150, 64)));
  auto runner = compile(c);
  if (!runner)
    return;
  Buffers in(c, 7);
  for (int64_t n = 40; n < 100; ++n)
    in.valueRow(0, 0, n)[1] = inf;
  in.keyRow(0, 0, 60)[0] = std::nanf("");
  in.run(*runner, 2);
  Buffers clean(c, 7);
  for (int64_t n = 40; n < 100; ++n)
    clean.valueRow(0, 0, n)[1] = 0;
  clean.keyRow(0, 0, 60)[0] = 0;
  for (int64_t m = 0; m < 60; ++m) {
    std::vector<double> weights = weightsOf(c, clean, 0, 0, m);
    for (int64_t d = 0; d < c.valueFeatures; ++d) {
      if (m >= 40 && d == 1) {
        ASSERT_EQ(in.outRow(0, 0, m)[d], inf) << m;
        continue;
      }
      auto [expected, magnitude] = expectedOf(c, clean, weights, 0, 0, d);
      ASSERT_NEAR(in.outRow(0, 0, m)[d], expected, 0x1p-7 * magnitude) << m << " " << d;
    }
  }
  for (int64_t m = 60; m < c.queries; ++m)
    ASSERT_TRUE(std::isnan(in.outRow(0, 0, m)[0])) << m;
}

namespace {

TEST_P(GpuAttentionTest, AnythingBehindTheMask) { checkBehindTheMask(); }
TEST_P(GpuHalfAttentionTest, AnythingBehindTheMask) { checkBehindTheMask(); }

TEST_P(GpuAttentionTest, SlidingWindow) {
  runCase(masked(head(300, 16),
                 R"(mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %width = arith.constant 150 : index
        %first = arith.subi %i, %width : index
        %late = arith.cmpi sge, %j, %first : index
        %early = arith.cmpi sle, %j, %i : index
        %live = arith.andi %late, %early : i1
        attn.yield %live : i1
      })",
                 [](int64_t, int64_t i, int64_t j) { return j >= i - 150 && j <= i; }));
}

TEST_P(GpuAttentionTest, DocumentsOfOneLength) {
  runCase(masked(head(270, 24), documentsOf(90),
                 [](int64_t, int64_t i, int64_t j) { return i / 90 == j / 90; }));
}

/// Every tile of the last queries is empty.
TEST_P(GpuAttentionTest, QueriesWithoutKeys) {
  Case c = stored(masked(head(140, 16),
                         R"(mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %end = arith.constant 60 : index
        %live = arith.cmpi slt, %i, %end : index
        attn.yield %live : i1
      })",
                         [](int64_t, int64_t i, int64_t j) { return i < 60; }));
  auto runner = compile(c);
  if (!runner)
    return;
  Buffers in(c, 3);
  in.run(*runner, 2);
  check(c, in);
  for (int64_t m = 60; m < c.queries; ++m)
    EXPECT_EQ(in.outRow(0, 0, m)[0], 0.0f);
}

/// More parts than tiles, parts without a live key, a state of several queries.
TEST_P(GpuAttentionTest, KeysInParts) {
  for (auto [queries, keys, parts] : {std::tuple{1, 70, 3}, {4, 700, 5}, {8, 129, 2}}) {
    Case c = cross(queries, keys, 24, 20);
    c.parts = parts;
    runCase(c);
    runCase(causal(c));
  }
}

/// More than 32 tiles before the first that is live.
TEST_P(GpuAttentionTest, FarKeys) {
  runCase(masked(cross(20, 2700, 8, 8),
                 R"(mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %start = arith.constant 2600 : index
        %first = arith.addi %i, %start : index
        %live = arith.cmpi sge, %j, %first : index
        attn.yield %live : i1
      })",
                 [](int64_t, int64_t i, int64_t j) { return j >= i + 2600; }));
}

/// Rows of bf16 that do not begin at multiples of 16 bytes.
TEST_P(GpuAttentionTest, UnalignedRows) { runCase(shape(70, 12)); }

} // namespace
} // namespace attn::test
