// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears in f32.
#include "test/unit/kernels/LinearKernelTest.h"

namespace attn::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Levels, LinearKernelTest,
                         testing::Values("x86-64-v3", "x86-64-v4", "neon", "sm_80"));

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
              nothing.begin(), data.sums.data(), nothing.begin(), nothing.begin(), nothing.begin(),
              data.sums.data());
}

TEST_P(LinearKernelTest, ManyRowsForEachThread) {
  std::vector<LinearCase> cases;
  for (int64_t rows : {64, 127, 128, 129, 192, 195, 256, 431})
    cases.emplace_back(rows, 12, 100, Epilogue::Residual);
  check(cases);
  // At least 67, as many times as is known at run time.
  auto ofPictures = [](int64_t count) {
    LinearCase sized({40}, 50, Layout::dense({count, 67, 40}), Layout::dense({count, 67, 50}));
    sized.dynamic = true;
    return sized;
  };
  auto runner = KernelRunner::create(ofPictures(1).text("f"), GetParam());
  ASSERT_TRUE(runner);
  for (int64_t count : {1, 2, 3, 5, 8})
    run(*runner, "f", ofPictures(count));
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

TEST_P(LinearKernelTest, ResidualsInPlace) {
  if (KernelRunner::isGpu(GetParam()))
    GTEST_SKIP() << "residuals stay elsewhere";
  std::vector<LinearCase> cases{{17, 2048, 50, Epilogue::Residual},
                                {25, 67, 101, Epilogue::ScaleAndShift},
                                {5, 800, 96, Epilogue::Residual}};
  cases.push_back(cases.back());
  cases.back().dynamic = true;
  for (LinearCase &test : cases)
    test.isInPlace = true;
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

TEST_P(LinearKernelTest, FewRows) {
  check(fewRowsOf(Panels::F32, 1));
  if (KernelRunner::isGpu(GetParam()))
    for (Panels panels : {Panels::BF16, Panels::F16})
      check(fewRowsOf(panels, 2));
}

} // namespace
} // namespace attn::test
