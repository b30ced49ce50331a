// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears on a GPU, interpreted: what tiles and copies depend on.
#include "test/unit/kernels/LinearKernelTest.h"

namespace attn::test {
namespace {

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

} // namespace
} // namespace attn::test
