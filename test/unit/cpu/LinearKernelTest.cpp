// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear kernels against sums in double precision. The bound is 2e-6 of the sum of the magnitudes:
// f32 sums of up to 3072 products err by about sqrt(3072) * 2^-24 = 3.3e-6 of a typical term's
// share, GELU by 1e-6.
#include "runtime/cpu/Features.h"
#include "test/unit/cpu/Guarded.h"
#include "test/unit/cpu/KernelRunner.h"
#include "test/unit/cpu/LinearCase.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace attn::test {
namespace {

constexpr float untouched = -12345.0f;

class LinearKernelTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!KernelRunner::supports(GetParam()))
      GTEST_SKIP() << "this machine is below " << GetParam();
  }

  /// Runs all cases, compiled as one module.
  void check(const std::vector<LinearCase> &cases) {
    std::string text;
    for (size_t i = 0; i < cases.size(); ++i)
      text += cases[i].text("f" + std::to_string(i));
    auto runner = KernelRunner::create(text, GetParam());
    ASSERT_TRUE(runner);
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(cases[i].text("f" + std::to_string(i)));
      run(*runner, "f" + std::to_string(i), cases[i]);
    }
  }

  static std::vector<float> outputs(KernelRunner &runner, const std::string &name,
                                    const LinearCase &test, const LinearData &data,
                                    int64_t threads) {
    bool isTurned = test.isNarrow && GetParam() == std::string("sm_90a");
    Guarded in(data.storedIn), panels(isTurned ? data.turnedPanels() : data.storedPanels),
        bias(data.bias), c0(data.captures[0]), c1(data.captures[1]), range(data.range),
        scales(data.scales), rounded(data.rounded),
        out(std::vector<float>(test.out.elements(), untouched));
    runner.run(name, threads, nullptr, nullptr, test.in.sizes[0], in.begin(), panels.begin(),
               bias.begin(), out.begin(), c0.begin(), c1.begin(), range.begin(), scales.begin(),
               data.sums.data(), rounded.begin());
    return {out.begin(), out.end()};
  }

  void run(KernelRunner &runner, const std::string &name, const LinearCase &test) {
    run(runner, name, test, LinearData(test, random));
  }

  void run(KernelRunner &runner, const std::string &name, const LinearCase &test,
           const LinearData &data) {
    std::vector<float> out = outputs(runner, name, test, data, 1);
    std::vector<bool> isOutput(out.size());
    double worst = 0;
    for (int64_t row = 0; row < test.rows(); ++row)
      for (int64_t column = 0; column < test.n; ++column) {
        auto [sum, magnitude] = data.expected(row, column);
        int64_t place =
            test.out.at(row, 0, test.out.sizes.size() - 1) + column * test.out.strides.back();
        double error = std::abs(out[place] - sum) / (magnitude + 1e-30);
        worst =
            std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
        isOutput[place] = true;
      }
    EXPECT_LT(worst, 2e-6);
    for (size_t i = 0; i < out.size(); ++i)
      if (!isOutput[i])
        ASSERT_EQ(out[i], untouched) << "written at element " << i << ", which is not an output";
    for (int64_t threads : {2, 3, 7, 64})
      EXPECT_TRUE(outputs(runner, name, test, data, threads) == out)
          << "other bits with " << threads << " threads";
  }

  std::mt19937 random{20261121};
};

INSTANTIATE_TEST_SUITE_P(Levels, LinearKernelTest,
                         testing::Values("x86-64-v3", "x86-64-v4", "sm_80"));

TEST_P(LinearKernelTest, EveryNumberOfRows) {
  std::vector<LinearCase> cases;
  for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 25, 197})
    cases.emplace_back(rows, 40, 50);
  check(cases);
}

TEST_P(LinearKernelTest, RowsKnownAtRunTime) {
  LinearCase test(1, 67, 96, Epilogue::Gelu);
  test.dynamic = true;
  auto runner = KernelRunner::create(test.text("f"), GetParam());
  ASSERT_TRUE(runner);
  for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 17, 33, 197}) {
    LinearCase sized(rows, 67, 96, Epilogue::Gelu);
    run(*runner, "f", sized);
  }
  // No row at all: nothing is touched.
  LinearData data(test, random);
  Guarded<float> nothing({});
  runner->run("f", 2, nullptr, nullptr, int64_t(0), nothing.begin(), data.panels.data(),
              data.bias.data(), nothing.begin(), nothing.begin(), nothing.begin(), nothing.begin(),
              nothing.begin(), data.sums.data(), nothing.begin());
}

TEST_P(LinearKernelTest, ColumnsThatDoNotFillVectorsOrPanels) {
  std::vector<LinearCase> cases;
  for (int64_t n : {1, 7, 8, 9, 10, 15, 16, 17, 31, 33, 47, 48, 49, 64, 65, 80, 95, 97, 1000}) {
    cases.emplace_back(11, 33, n, n % 3 == 0 ? Epilogue::Residual : Epilogue::None);
    cases.back().hasBias = n % 2 == 0;
  }
  check(cases);
}

TEST_P(LinearKernelTest, DepthsThatDoNotFillUnrolledLoops) {
  std::vector<LinearCase> cases;
  for (int64_t k : {1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 768, 1031})
    cases.emplace_back(9, k, 53, Epilogue::Relu);
  check(cases);
}

TEST_P(LinearKernelTest, DeepSumsComeInParts) {
  if (KernelRunner::isGpu(GetParam()))
    GTEST_SKIP() << "parts are a CPU's";
  std::vector<LinearCase> cases{{19, 3072, 70, Epilogue::Gelu},
                                {17, 2048, 50, Epilogue::Residual},
                                {3, 5120, 48, Epilogue::ScaleAndShift},
                                {5, 4610, 8},
                                {11, 2549, 60, Epilogue::Gelu}}; // the last part is shorter
  check(cases);
}

TEST_P(LinearKernelTest, CapturesOfAllStrides) {
  std::vector<LinearCase> cases;
  for (Dims strides : {Dims{75, 1}, Dims{0, 1}, Dims{1, 0}, Dims{1, 13}, Dims{0, 0}}) {
    cases.emplace_back(13, 64, 70, Epilogue::ScaleAndShift);
    cases.back().captures[0].strides = strides;
    cases.back().out.strides = strides[1] == 13 ? strides : Dims{77, 1};
  }
  check(cases);
}

// The class token is left out of the input, and the output lies in a longer sequence.
TEST_P(LinearKernelTest, RowsInSeveralDims) {
  std::vector<LinearCase> cases;
  Layout part{{5, 19, 24}, {20 * 24, 24, 1}}, whole{{5, 19, 72}, {20 * 72, 72, 1}};
  LinearCase test({24}, 72, part, whole);
  test.epilogue = Epilogue::Residual;
  test.captures = {Layout{{5, 19, 72}, {0, 72, 1}}};
  cases.push_back(test);
  test.dynamic = true;
  cases.push_back(test);
  test.dynamic = false;
  test.in = Layout::dense({95, 24}); // rows of other dims
  cases.push_back(test);
  test.in = part, test.out = Layout::dense({95, 72}), test.captures[0] = {{95, 72}, {1, 95}};
  cases.push_back(test);
  check(cases);
}

/// Patches of an image [B, C, Y * P, X * P] as rows [B, Y, X] of [C, P, P].
LinearCase patches(int64_t b, int64_t c, int64_t y, int64_t x, int64_t p) {
  int64_t h = y * p, w = x * p, n = 56;
  LinearCase test({c, p, p}, n, Layout{{b, y, x, c, p, p}, {c * h * w, p * w, p, h * w, w, 1}},
                  Layout{{b, y, x, n}, {(y * x + 1) * n, x * n, n, 1}});
  test.epilogue = Epilogue::Residual;
  test.captures = {Layout{{b, y, x, n}, {0, x * n, n, 1}}};
  return test;
}

TEST_P(LinearKernelTest, PatchesOfImages) {
  std::vector<LinearCase> cases{patches(2, 3, 4, 5, 4), patches(1, 3, 14, 14, 16),
                                patches(3, 1, 7, 7, 4), patches(2, 3, 3, 3, 17)};
  for (size_t i = 0; i < 4; ++i) {
    cases.push_back(cases[i]);
    cases.back().dynamic = true;
  }
  check(cases);
}

TEST_P(LinearKernelTest, RandomShapes) {
  std::vector<LinearCase> cases;
  auto upTo = [&](int64_t most) { return int64_t(random() % most) + 1; };
  for (int i = 0; i < 24; ++i) {
    int64_t rows = upTo(60), k = upTo(90), n = upTo(200);
    cases.emplace_back(rows, k, n, Epilogue(i % 5));
    LinearCase &test = cases.back();
    test.in = Layout::dense({rows, k}, int64_t(random() % 9));
    test.out = Layout::dense({rows, n}, int64_t(random() % 9));
    test.hasBias = i % 3 != 0, test.dynamic = i % 2;
  }
  check(cases);
}

TEST_P(LinearKernelTest, SumsOfSmallIntegersAreExact) {
  LinearCase test(23, 96, 61);
  auto runner = KernelRunner::create(test.text("f"), GetParam());
  ASSERT_TRUE(runner);
  LinearData data(test, random);
  for (auto *values : {&data.in, &data.panels, &data.bias})
    for (float &value : *values)
      value = std::round(value * 4);
  data.store();
  std::vector<float> out = outputs(*runner, "f", test, data, 2);
  for (int64_t row = 0; row < 23; ++row)
    for (int64_t column = 0; column < 61; ++column)
      EXPECT_EQ(out[row * 61 + column], data.expected(row, column).first);
}

TEST_P(LinearKernelTest, NanAndInfinityStayInTheirRow) {
  LinearCase test(9, 40, 50, Epilogue::Residual);
  auto runner = KernelRunner::create(test.text("f"), GetParam());
  ASSERT_TRUE(runner);
  LinearData data(test, random);
  data.in[3 * 40 + 17] = std::numeric_limits<float>::quiet_NaN();
  data.in[5 * 40 + 39] = std::numeric_limits<float>::infinity();
  data.store();
  std::vector<float> out = outputs(*runner, "f", test, data, 1);
  for (int64_t row = 0; row < 9; ++row)
    for (int64_t column = 0; column < 50; ++column) {
      float value = out[row * 50 + column];
      if (row == 3)
        EXPECT_TRUE(std::isnan(value));
      else
        EXPECT_EQ(std::isinf(value), row == 5);
    }
}

/// Products of bytes and of bf16 rows, for which there are levels more. Code for tile registers is
/// run with functions in the place of their instructions, and by a CPU that has them.
class ByteKernelTest : public LinearKernelTest {
protected:
  void SetUp() override {
    LinearKernelTest::SetUp();
    if (GetParam() == std::string("amx") && requestAmx())
      configureTiles();
  }
  void TearDown() override {
    if (GetParam() == std::string("amx") && KernelRunner::supports("amx"))
      releaseTiles();
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, ByteKernelTest,
                         testing::Values("x86-64-v3", "x86-64-v4", "vnni", "avx512bf16",
                                         "amx-emulated", "amx", "sm_80", "sm_90a"));

/// The same shapes with other panels; `group` neighbours along k make up four bytes.
std::vector<LinearCase> casesOf(Panels panels, int64_t group, std::mt19937 &random) {
  std::vector<LinearCase> cases;
  for (int64_t rows : {1, 3, 8, 197})
    cases.emplace_back(rows, 10 * group, 50);
  for (int64_t n : {1, 16, 47, 97})
    cases.emplace_back(11, 9 * group, n, n % 2 ? Epilogue::Residual : Epilogue::Gelu);
  for (int64_t steps : {1, 3, 5, 192})
    cases.emplace_back(9, steps * group, 53, Epilogue::Relu);
  cases.emplace_back(13, 1536 * group, 70, Epilogue::ScaleAndShift); // in parts
  for (int i = 0; i < 5; ++i) {
    auto upTo = [&](int64_t most) { return int64_t(random() % most) + 1; };
    int64_t rows = upTo(60), k = upTo(40) * group, n = upTo(200);
    cases.emplace_back(rows, k, n, Epilogue(i % 5));
    cases.back().in = Layout::dense({rows, k}, int64_t(random() % 9) * group);
    cases.back().hasBias = i % 3 != 0, cases.back().dynamic = i % 2;
  }
  for (LinearCase &test : cases)
    test.panels = panels;
  return cases;
}

/// Up to 8 rows, which GPUs have a kernel for: columns of 8 and of 16 at a time, steps of k that
/// fill no batch, rows that are known when running, and such that come to shared memory in chunks,
/// the last of which is shorter.
std::vector<LinearCase> fewRowsOf(Panels panels, int64_t group) {
  std::vector<LinearCase> cases;
  for (auto [rows, steps, n] : {std::tuple(1, 1, 1),
                                {1, 768, 50},
                                {1, 261, 200},
                                {2, 515, 16},
                                {3, 259, 97},
                                {4, 64, 64},
                                {7, 129, 65},
                                {8, 768, 63},
                                {1, 8703, 9},
                                {6, 2183, 33}})
    cases.emplace_back(rows, llvm::alignTo(steps * std::min<int64_t>(group, 4), group), n,
                       Epilogue(rows % 5));
  for (int64_t rows : {1, 3, 8}) {
    cases.emplace_back(rows, 68 * group, 70, Epilogue::ScaleAndShift);
    cases.back().dynamic = true;
  }
  for (LinearCase &test : cases) {
    test.panels = panels;
    test.isRounded = test.isNarrow = panels == Panels::BF16 || panels == Panels::F16;
  }
  return cases;
}

TEST_P(LinearKernelTest, FewRows) {
  check(fewRowsOf(Panels::F32, 1));
  if (KernelRunner::isGpu(GetParam()))
    for (Panels panels : {Panels::BF16, Panels::F16})
      check(fewRowsOf(panels, 2));
}

class HalfKernelTest : public LinearKernelTest {
protected:
  void checkPanels(Panels panels) {
    std::vector<LinearCase> cases = casesOf(panels, 2, random);
    if (KernelRunner::isGpu(GetParam())) {
      for (LinearCase &test : cases)
        test.isRounded = test.isNarrow = true;
      return check(cases);
    }
    for (LinearCase test : {patches(2, 3, 4, 5, 4), patches(1, 3, 7, 7, 16)}) {
      test.panels = panels;
      cases.push_back(test);
    }
    check(cases);
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, HalfKernelTest,
                         testing::Values("x86-64-v3", "x86-64-v4", "sm_80"));

TEST_P(HalfKernelTest, PanelsOfBf16) { checkPanels(Panels::BF16); }
TEST_P(HalfKernelTest, PanelsOfF16) { checkPanels(Panels::F16); }

/// Kernels of portable instructions: what their tiles and copies depend on.
class PortableKernelTest : public LinearKernelTest {
protected:
  static bool isTf32() { return KernelRunner::isTf32(GetParam()); }
  /// All kinds of products; pairs of bf16 have twice the depth.
  void checkAll(std::vector<LinearCase> cases) {
    for (LinearCase &test : cases)
      test.isTf32 = isTf32();
    check(cases);
    if (isTf32())
      return;
    std::vector<LinearCase> pairs;
    for (const LinearCase &test : cases)
      pairs.push_back(ofPairs(test));
    check(pairs);
  }
  static LinearCase ofPairs(const LinearCase &test) {
    LinearCase pairs(test.rows(), 2 * test.depth(), test.n, test.epilogue);
    pairs.panels = Panels::BF16, pairs.isRounded = pairs.isNarrow = true;
    pairs.dynamic = test.dynamic;
    return pairs;
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, PortableKernelTest,
                         testing::Values("sm_80", "sm_80.tf32", "sm_90a.tf32"));

TEST_P(PortableKernelTest, SmallTiles) {
  std::vector<LinearCase> cases;
  for (auto [rows, k, n] : {std::tuple(64, 300, 96), {33, 131, 50}, {1, 16, 96}, {17, 8, 4}})
    cases.emplace_back(rows, k, n, Epilogue::ScaleAndShift);
  checkAll(cases);
}

TEST_P(PortableKernelTest, MediumTiles) {
  std::vector<LinearCase> cases;
  for (auto [rows, k, n] : {std::tuple(65, 131, 192), {70, 64, 130}, {190, 40, 40}, {128, 17, 96}})
    cases.emplace_back(rows, k, n, Epilogue::Residual);
  checkAll(cases);
}

// One to four panels across, as their number has it: 2 and 4 for 10, 3 for 21, 4 for 16.
TEST_P(PortableKernelTest, LargeTiles) {
  std::vector<LinearCase> cases;
  for (auto [rows, k, n] :
       {std::tuple(400, 40, 44), {385, 24, 90}, {130, 66, 470}, {129, 33, 1000}, {131, 97, 768}})
    cases.emplace_back(rows, k, n, Epilogue::Residual);
  checkAll(cases);
}

TEST_P(PortableKernelTest, TileThatFitsTheRowsOfARun) {
  for (bool ofPairs : {false, true}) {
    if (ofPairs && isTf32())
      break;
    auto sized = [&](int64_t rows) {
      LinearCase test(rows, 70, 190, Epilogue::Gelu);
      test.dynamic = true, test.isTf32 = isTf32();
      return ofPairs ? PortableKernelTest::ofPairs(test) : test;
    };
    auto runner = KernelRunner::create(sized(1).text("f"), GetParam());
    ASSERT_TRUE(runner);
    for (int64_t rows : {1, 31, 32, 33, 64, 65, 128, 129, 256, 257, 400})
      run(*runner, "f", sized(rows));
  }
}

// Rows begin at multiples of 16 bytes, but the last piece of their k is no whole one.
TEST_P(PortableKernelTest, PieceThatEndsInAPiece) {
  for (int64_t k : {1, 5, 34, 51}) {
    LinearCase test(70, k, 50);
    int64_t pitch = (k + 3) / 4 * 4;
    test.in = Layout::dense({70, k}, pitch - k), test.isTf32 = isTf32();
    auto runner = KernelRunner::create(test.text("f"), GetParam());
    ASSERT_TRUE(runner);
    LinearData data(test, random);
    data.storedIn.resize(70 * pitch, std::numeric_limits<float>::quiet_NaN());
    run(*runner, "f", test, data);
  }
}

// Strides are multiples of 16 bytes, but the first row is at none: known when running.
TEST_P(PortableKernelTest, RowsThatAreNotAligned) {
  LinearCase words(70, 64, 50);
  words.isTf32 = isTf32();
  std::vector<LinearCase> cases{words};
  if (!isTf32())
    cases.push_back(ofPairs(words));
  for (const LinearCase &test : cases)
    for (int64_t shift : {1, 2, 3}) {
      auto runner = KernelRunner::create(test.text("f"), GetParam());
      ASSERT_TRUE(runner);
      LinearData data(test, random);
      for (auto *values : {&data.storedIn, &data.rounded})
        values->resize(values->size() + shift);
      run(*runner, "f", test, data);
    }
}

/// Kernels with tensor copies and wgmma.
class HopperKernelTest : public LinearKernelTest {
protected:
  void checkPanels(Panels panels);
};
INSTANTIATE_TEST_SUITE_P(Levels, HopperKernelTest, testing::Values("sm_90a"));

void HopperKernelTest::checkPanels(Panels panels) {
  std::vector<LinearCase> cases = casesOf(panels, 2, random);
  // Small tiles of 32 columns and of 64, large ones of 256 and of 128, which more than 128 rows
  // have here; rings that go round.
  for (auto [rows, k, n] : {std::tuple(1, 64, 8),
                            {64, 130, 144},
                            {65, 72, 1030},
                            {70, 130, 2050},
                            {131, 72, 1030},
                            {131, 640, 200}})
    cases.emplace_back(rows, k, n, Epilogue::Residual);
  cases.back().dynamic = true;
  for (LinearCase &test : cases)
    test.panels = panels, test.isRounded = test.isNarrow = true;
  check(cases);
}

TEST_P(HopperKernelTest, PanelsOfBf16) { checkPanels(Panels::BF16); }
TEST_P(HopperKernelTest, PanelsOfF16) { checkPanels(Panels::F16); }

TEST_P(HopperKernelTest, FewRows) {
  check(fewRowsOf(Panels::BF16, 2));
  check(fewRowsOf(Panels::F16, 2));
}

TEST_P(ByteKernelTest, FewRows) {
  if (!KernelRunner::isGpu(GetParam()))
    GTEST_SKIP() << "a CPU has no kernel of its own for them";
  check(fewRowsOf(Panels::Int8, 4));
  check(fewRowsOf(Panels::Int4, 32));
}

TEST_P(ByteKernelTest, PanelsOfInt8) { check(casesOf(Panels::Int8, 4, random)); }

TEST_P(ByteKernelTest, PanelsOfInt4) { check(casesOf(Panels::Int4, 32, random)); }

TEST_P(ByteKernelTest, RowsRoundedToBf16) {
  llvm::StringRef level = GetParam();
  if (level.starts_with("x86") || level == "vnni" || KernelRunner::isGpu(level))
    GTEST_SKIP() << "reads f32 rows, or bf16 ones alone";
  std::vector<LinearCase> cases = casesOf(Panels::BF16, 2, random);
  for (LinearCase &test : cases)
    test.isRounded = true;
  check(cases);
}

TEST_P(ByteKernelTest, LargestBytesDoNotSaturate) {
  LinearCase test(9, 3072, 50);
  test.panels = Panels::Int8;
  LinearData data(test, random);
  for (float &value : data.in)
    value = 1000;
  for (float &value : data.panels)
    value = -1000;
  data.store();
  auto runner = KernelRunner::create(test.text("f"), GetParam());
  ASSERT_TRUE(runner);
  std::vector<float> out = outputs(*runner, "f", test, data, 1);
  for (int64_t row = 0; row < 9; ++row)
    for (int64_t column = 0; column < 50; ++column) {
      double sum = data.expected(row, column).first;
      EXPECT_NEAR(out[row * 50 + column], sum, 1e-6 * std::abs(sum) + 1e-6);
    }
}

} // namespace
} // namespace attn::test
