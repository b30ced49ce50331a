// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention kernels against plain loops in double precision. Query, key and value are columns of
// one packed buffer where there are as many queries as keys, as packed projections leave them.
#include "test/unit/kernels/AttentionCase.h"

#include "compiler/target/CpuTarget.h"
#include "compiler/transforms/FewQueries.h"
#include "test/unit/kernels/Sample.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace attn::test {
namespace {

using Case = AttentionCase;
using Buffers = AttentionBuffers;

class AttentionKernelTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!KernelRunner::supports(level()))
      GTEST_SKIP() << "this machine is below " << GetParam();
    if (isLong() && !isFullCheck())
      GTEST_SKIP() << "takes an emulator long: tools/check.sh --full runs it";
  }
  /// Tests that take an emulator longest, which it runs if asked for by ATTN_FULL_TESTS=1.
  static bool isLong() {
    llvm::StringRef test = testing::UnitTest::GetInstance()->current_test_info()->name();
    auto isOneOf = [&](std::initializer_list<llvm::StringRef> names) {
      return llvm::is_contained(names, test.split('/').first);
    };
    if (!KernelRunner::isEmulated(level()))
      return false;
    return isOneOf({"DocumentsOfOneLength", "MaskedKeysCanBeAnything", "BiasAndMaskOfPositions",
                    "Lowerings", "Shapes"}) ||
           (level() != "neon" && isOneOf({"RandomShapes", "KeysOfACache", "SinksAndWindow",
                                          "BiasAndMaskOfSizesKnownAtRunTime"}));
  }
  /// Without what is asked of it.
  static llvm::StringRef level() { return llvm::StringRef(GetParam()).split('/').first; }

  /// Scores of magnitude 1 are right within 2^-24 times a few dozens, and so are weights, unless
  /// they are rounded; the bound is of the weighted sum of |value|. Outputs in bf16 are rounded by
  /// 2^-9 more.
  void check(const Case &c, Buffers &in) {
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t m = 0; m < c.queries; ++m) {
          std::vector<double> weights = weightsOf(c, in, b, h, m);
          for (int64_t d = 0; d < c.valueFeatures; ++d) {
            auto [expected, magnitude] = expectedOf(c, in, weights, b, h, d);
            double bound = (c.isOfBits ? 0x1.8p-8 : c.rounds ? 0x1p-8 : 1e-5) * magnitude + 1e-30;
            ASSERT_NEAR(in.outRow(b, h, m)[d], expected, bound)
                << c.name() << ", at batch " << b << " head " << h << " query " << m << " feature "
                << d;
          }
        }
    ASSERT_TRUE(in.areGuardsWhole()) << c.name() << ": written outside";
  }

  /// Levels that multiply pairs of bf16 are tested with these, of f32 or of bits that are stored.
  Case atLevel(Case c) {
    if (KernelRunner::isGpu(level())) {
      c.rounds = level() != GetParam(), c.isScaled = false;
      return c;
    }
    auto target = CpuTarget::find(level());
    c.rounds = target->multipliesPairs() && (c.dynamic || c.queries > FewQueriesShape::mostQueries);
    c.isOfBits = c.rounds && level() != GetParam();
    return c;
  }

  void runCase(const Case &wanted) {
    Case c = atLevel(wanted);
    auto runner = KernelRunner::create(c.text(), level());
    ASSERT_TRUE(runner) << c.name();
    Buffers alone(c, 7), team(c, 7);
    alone.run(*runner, 1);
    check(c, alone);
    team.run(*runner, 3);
    EXPECT_EQ(alone.out, team.out) << c.name() << ": three threads differ from one";
  }

  void runSample(const std::vector<Case> &cases) {
    for (const Case &c : sampleOf(cases, GetParam()))
      runCase(c);
  }

  void runDynamic() {
    Case c = cross(1, 1, 28, 40);
    c.dynamic = true, c = atLevel(c);
    auto runner = KernelRunner::create(c.text(), level());
    ASSERT_TRUE(runner);
    for (auto [queries, keys] : {std::pair{1, 1}, {7, 64}, {16, 65}, {53, 129}, {100, 263}}) {
      c.queries = queries, c.keys = keys;
      Buffers in(c, queries);
      in.run(*runner, 2);
      check(c, in);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, AttentionKernelTest,
                         testing::Values("x86-64-v3", "x86-64-v4", "avx512bf16", "amx-emulated",
                                         "amx", "neon", "neon-i8mm", "sm_80", "sm_80/rounds"));

TEST_P(AttentionKernelTest, OneOfEach) { runCase(cross(1, 1, 1, 1)); }
TEST_P(AttentionKernelTest, OneQuery) { runCase(cross(1, 37, 64, 64)); }
TEST_P(AttentionKernelTest, OneKey) { runCase(cross(13, 1, 64, 5)); }
TEST_P(AttentionKernelTest, OddFeatures) { runCase(cross(17, 5, 5, 17)); }
TEST_P(AttentionKernelTest, FeaturesOfOtherSizes) {
  runSample({cross(53, 101, 48, 80), cross(48, 61, 80, 48), shape(37, 192)});
}
TEST_P(AttentionKernelTest, PatchesOfImages) {
  std::vector<Case> cases{shape(197, 64), shape(17, 16), shape(577, 24)};
  if (KernelRunner::isGpu(level()))
    cases.pop_back(); // takes the interpreter long
  runSample(cases);
}
TEST_P(AttentionKernelTest, ManyKeys) { runCase(cross(5, 1537, 16, 20)); }

/// Several blocks in a group, several groups in a head, groups that end within a head.
TEST_P(AttentionKernelTest, Lowerings) {
  std::vector<Case> cases;
  for (auto lowering :
       {AttentionLowering::Strip, AttentionLowering::Online, AttentionLowering::Unfused})
    for (Case c : {cross(500, 70, 12, 20), cross(101, 150, 20, 8)}) {
      c.lowering = lowering;
      cases.push_back(c);
    }
  std::swap(cases[2], cases[3]); // a sample has both shapes
  runSample(cases);
}

TEST_P(AttentionKernelTest, SizesKnownAtRunTime) { runDynamic(); }

TEST_P(AttentionKernelTest, RandomShapes) {
  std::mt19937 random(20);
  auto upTo = [&](int64_t most) { return 1 + int64_t(random() % most); };
  std::vector<Case> cases;
  for (int i = 0; i < 6; ++i)
    cases.push_back(cross(upTo(120), upTo(220), upTo(70), upTo(100)));
  runSample(cases);
}

TEST_P(AttentionKernelTest, OtherFunctionOfTheInnerProduct) {
  Case c = shape(29, 9);
  c.score = "%h = arith.constant 0.5 : f32\n %x = arith.mulf %d, %h : f32\n"
            "%s = arith.minimumf %x, %h : f32";
  c.function = [](double dot) { return std::fmin(dot * 0.5, 0.5); };
  c.isScaled = false;
  runCase(c);
}

TEST_P(AttentionKernelTest, DivisionByARoot) {
  Case c = shape(29, 9);
  c.score = "%n = arith.constant 9.0 : f32\n %r = math.sqrt %n : f32\n"
            "%s = arith.divf %d, %r : f32";
  c.function = [](double dot) { return dot / 3; };
  runCase(c);
}

TEST_P(AttentionKernelTest, BiasAndMaskOfPositions) {
  runSample({causal(shape(1, 4)), causal(shape(37, 5)), causal(shape(130, 16)),
             causal(shape(130, 32)), causal(cross(61, 1100, 8, 12)),
             causal(cross(260, 300, 8, 12))});
}

/// The first keys and the last ones before a query: tiles that are live at both ends.
TEST_P(AttentionKernelTest, SinksAndWindow) {
  for (Case c : sampleOf<Case>({cross(70, 190, 8, 20), cross(300, 290, 8, 20)}, GetParam())) {
    c.hooks = R"(mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %few = arith.constant 5 : index
        %width = arith.constant 40 : index
        %isFirst = arith.cmpi slt, %j, %few : index
        %end = arith.addi %j, %width : index
        %isNear = arith.cmpi slt, %i, %end : index
        %isBefore = arith.cmpi sle, %j, %i : index
        %inWindow = arith.andi %isNear, %isBefore : i1
        %live = arith.ori %isFirst, %inWindow : i1
        attn.yield %live : i1
      })";
    c.mask = [](int64_t, int64_t i, int64_t j) { return j < 5 || (j <= i && i < j + 40); };
    runCase(c);
  }
}

/// A cache has room for more keys than there are; the rows behind them hold anything.
TEST_P(AttentionKernelTest, KeysOfACache) {
  if (KernelRunner::isGpu(level()))
    GTEST_SKIP() << "GpuDecodingTest has them";
  for (Case c :
       sampleOf<Case>({cross(53, 129, 20, 36), causal(cross(250, 270, 8, 24))}, GetParam())) {
    c.dynamicKeys = true, c.spareKeys = 300 - c.keys;
    runCase(c);
  }
}

TEST_P(AttentionKernelTest, BiasAndMaskOfSizesKnownAtRunTime) {
  Case c = causal(cross(1, 1, 8, 24));
  c.dynamic = true, c = atLevel(c);
  auto runner = KernelRunner::create(c.text(), level());
  ASSERT_TRUE(runner);
  for (auto [queries, keys] : {std::pair{1, 1}, {7, 64}, {53, 129}}) {
    c.queries = queries, c.keys = keys;
    Buffers in(c, queries);
    in.run(*runner, 2);
    check(c, in);
  }
}

/// More parts than tiles, tiles that are no multiple of the parts, parts without a live key.
TEST_P(AttentionKernelTest, KeysInParts) {
  for (auto [queries, keys, parts] :
       {std::tuple{1, 1, 3}, {4, 700, 5}, {8, 129, 2}, {3, 1024, 16}}) {
    Case c = cross(queries, keys, 20, 36);
    c.parts = parts;
    runCase(c);
    runCase(causal(c));
  }
}

/// Where floor(i / length) == floor(j / length): whole vectors of queries or not, one block or
/// several, more parts than a group has blocks.
TEST_P(AttentionKernelTest, DocumentsOfOneLength) {
  if (KernelRunner::isGpu(level()))
    GTEST_SKIP() << "blocks of documents are a CPU's";
  static int64_t length; // of the case
  std::vector<std::pair<int64_t, Case>> cases{{64, shape(192, 8)},  {100, shape(600, 8)},
                                              {65, shape(195, 20)}, {128, cross(256, 300, 8, 8)},
                                              {450, shape(900, 8)}, {90, shape(200, 8)}};
  for (auto [size, c] : sampleOf(cases, level())) {
    length = size;
    c.hooks = documentsOf(length);
    c.mask = [](int64_t, int64_t i, int64_t j) { return i / length == j / length; };
    runCase(c);
  }
}

/// NaN and infinities in keys and values reach the queries that see them, and a query that sees no
/// key gets 0.
TEST_P(AttentionKernelTest, MaskedKeysCanBeAnything) {
  std::vector<Case> cases{shape(40, 20), cross(40, 1100, 20, 20), cross(40, 200, 32, 20),
                          cross(250, 200, 32, 20)};
  for (Case c : sampleOf(cases, GetParam())) {
    c.hooks = R"(mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %first = arith.constant 9 : index
        %all = arith.cmpi sge, %j, %first : index
        %last = arith.constant 30 : index
        %late = arith.cmpi sge, %i, %last : index
        %seen = arith.ori %all, %late : i1
        %blind = arith.constant 20 : index
        %other = arith.cmpi ne, %i, %blind : index
        %live = arith.andi %seen, %other : i1
        attn.yield %live : i1
      })";
    c.mask = [](int64_t, int64_t i, int64_t j) { return (j >= 9 || i >= 30) && i != 20; };
    c = atLevel(c);
    auto runner = KernelRunner::create(c.text(), level());
    ASSERT_TRUE(runner);
    Buffers in(c, 5);
    in.keyRow(0, 0, 3)[0] = std::nanf("");
    in.valueRow(0, 0, 8)[1] = inf;
    in.valueRow(0, 1, 8)[1] = inf;
    Buffers clean = in;
    clean.keyRow(0, 0, 3)[0] = 0;
    clean.valueRow(0, 0, 8)[1] = clean.valueRow(0, 1, 8)[1] = 0;
    in.run(*runner, 1), clean.run(*runner, 1);
    // Pairs are added up in another order where a value is infinite.
    double bound = c.rounds ? 1e-5 : 0;
    for (int64_t m = 0; m < 30; ++m)
      for (int64_t d = 0; d < c.valueFeatures; ++d) {
        EXPECT_NEAR(in.outRow(0, 0, m)[d], clean.outRow(0, 0, m)[d], bound) << c.name() << m;
        EXPECT_NEAR(in.outRow(0, 1, m)[d], clean.outRow(0, 1, m)[d], bound) << c.name() << m;
      }
    EXPECT_EQ(in.outRow(0, 0, 20)[0], 0.0f);
    for (int64_t m = 30; m < c.queries; ++m) {
      EXPECT_TRUE(std::isnan(in.outRow(0, 0, m)[0])) << c.name() << m;
      EXPECT_EQ(in.outRow(0, 1, m)[1], inf) << c.name() << m;
    }
  }
}

/// Scores far from 0 neither overflow nor lose the largest.
TEST_P(AttentionKernelTest, LargeScores) {
  Case c = atLevel(shape(70, 8));
  auto runner = KernelRunner::create(c.text(), level());
  ASSERT_TRUE(runner);
  Buffers in(c, 3);
  for (int64_t h = 0; h < c.heads; ++h)
    for (int64_t m = 0; m < c.queries; ++m)
      for (int64_t e = 0; e < c.features; ++e) { // 16 * m: the last key wins by far
        in.queryRow(0, h, m)[e] = 16;
        in.keyRow(0, h, m)[e] = float(m);
      }
  in.run(*runner, 1);
  check(c, in);
}

/// Maxima grow along the keys or do not, side by side: within a tile and from tile to tile, by less
/// than weights may grow before they are rescaled, and by more.
TEST_P(AttentionKernelTest, ScoresThatGrow) {
  for (Case c : sampleOf<Case>({cross(50, 150, 8, 8), cross(50, 150, 32, 8), cross(250, 150, 8, 8)},
                               GetParam())) {
    c = atLevel(c);
    auto runner = KernelRunner::create(c.text(), level());
    ASSERT_TRUE(runner);
    Buffers in(c, 3);
    int64_t middle = c.keys / 2;
    for (int64_t h = 0; h < c.heads; ++h) {
      for (int64_t n = 0; n < c.keys; ++n)
        in.keyRow(0, h, n)[0] = float(n - middle);
      for (int64_t m = 0; m < c.queries; ++m) // slopes of -0.5 to 0.5 a key
        in.queryRow(0, h, m)[0] = 0.02f * float(m % 51 - 25) * std::sqrt(float(c.features));
    }
    in.run(*runner, 1);
    check(c, in);
  }
}

/// One tile of keys, and several.
TEST_P(AttentionKernelTest, InfinitiesAndNans) {
  for (Case c : sampleOf<Case>({shape(21, 4), shape(150, 4), shape(150, 32)}, GetParam())) {
    c = atLevel(c);
    auto valueOf = [&](float value) { return c.rounds ? float(c.rounded(value)) : value; };
    auto runner = KernelRunner::create(c.text(), level());
    ASSERT_TRUE(runner);
    Buffers in(c, 5);
    // Query 3 is NaN, query 4 scores -inf everywhere, query 5 scores -inf except for key 7,
    // query 6 scores +inf for key 7.
    for (int64_t n = 0; n < c.keys; ++n)
      in.keyRow(0, 0, n)[0] = n == 7 ? 0.0f : 1.0f, in.keyRow(0, 0, n)[1] = 1.0f;
    for (int64_t n = 0; n < c.keys; ++n)
      in.keyRow(0, 0, n)[2] = n == 7 ? 1.0f : 0.0f;
    for (int64_t m : {3, 4, 5, 6})
      for (int64_t e = 0; e < c.features; ++e)
        in.queryRow(0, 0, m)[e] = 0;
    in.queryRow(0, 0, 3)[3] = std::nanf("");
    in.queryRow(0, 0, 4)[1] = -inf;
    in.queryRow(0, 0, 5)[0] = -1e30f, in.queryRow(0, 0, 5)[2] = 1;
    in.queryRow(0, 0, 6)[2] = 3e38f;
    in.run(*runner, 1);
    for (int64_t d = 0; d < c.valueFeatures; ++d) {
      EXPECT_TRUE(std::isnan(in.outRow(0, 0, 3)[d]));
      EXPECT_EQ(in.outRow(0, 0, 4)[d], 0.0f);
      EXPECT_EQ(in.outRow(0, 0, 5)[d], valueOf(in.valueRow(0, 0, 7)[d]));
      EXPECT_EQ(in.outRow(0, 0, 6)[d], valueOf(in.valueRow(0, 0, 7)[d]));
    }
    for (int64_t m : {2, 7}) // neighbours are untouched
      for (int64_t d = 0; d < c.valueFeatures; ++d)
        EXPECT_TRUE(std::isfinite(in.outRow(0, 0, m)[d]));
  }
}

/// Queries, keys, values and outputs in the bits of bf16.
using BitsAttentionTest = AttentionKernelTest;

INSTANTIATE_TEST_SUITE_P(Levels, BitsAttentionTest,
                         testing::Values("avx512bf16/bits", "amx-emulated/bits", "amx/bits",
                                         "neon-i8mm/bits"));

TEST_P(BitsAttentionTest, Shapes) {
  runSample({shape(197, 64), cross(17, 5, 5, 17), cross(53, 101, 48, 80), cross(389, 131, 20, 36),
             causal(cross(101, 150, 20, 8)), causal(cross(389, 400, 20, 8))});
}

TEST_P(BitsAttentionTest, SizesKnownAtRunTime) { runDynamic(); }

} // namespace
} // namespace attn::test
