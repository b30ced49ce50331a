// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms of rows, by themselves and with the bytes of their results, against plain loops in double
// precision.
#include "test/unit/cpu/RowsKernelTest.h"

namespace attn::test {
namespace {

class NormKernelTest : public RowsKernelTest {};

INSTANTIATE_TEST_SUITE_P(Levels, NormKernelTest,
                         testing::Values("x86-64-v3", "x86-64-v4", "neon", "sm_80"));

/// A norm, as attn.norm has them.
struct Norm {
  const char *kind = "layer";
  bool hasWeight = true, hasBias = true;
  double offset = 0;

  /// Of one row.
  vector<double> of(const float *x, int64_t columns, const vector<float> &weight,
                    const vector<float> &bias, double eps) const {
    llvm::StringRef name = kind;
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < columns && name == "layer"; ++i)
      mean += x[i] / double(columns);
    for (int64_t i = 0; i < columns; ++i)
      squares += (x[i] - mean) * (x[i] - mean);
    double divisor = name == "l2" ? std::fmax(std::sqrt(squares), eps)
                                  : std::sqrt(squares / double(columns) + eps);
    vector<double> out(columns);
    for (int64_t i = 0; i < columns; ++i)
      out[i] = (x[i] - mean) / divisor * (hasWeight ? offset + double(weight[i]) : 1) +
               (hasBias ? bias[i] : 0);
    return out;
  }

  /// A norm of [n, 3, columns], rows `pitch` apart, into dense rows.
  std::string text(int64_t columns, int64_t pitch, double eps) const {
    std::string row = "memref<" + std::to_string(columns) + "xf32>";
    auto part = [](bool isThere, const std::string &text) { return isThere ? text : ""; };
    return llvm::formatv(R"(
    func.func @norm({0}, %in: memref<f32>, %g: memref<f32>, %b: memref<f32>, %to: memref<f32>) {{
      %x = memref.reinterpret_cast %in to offset: [0], sizes: [%n, 3, {1}], strides: [{2}, {3}, 1]
        : memref<f32> to memref<?x3x{1}xf32, strided<[{2}, {3}, 1]>>
      %weight = memref.reinterpret_cast %g to offset: [0], sizes: [{1}], strides: [1] : memref<f32> to {5}
      %bias = memref.reinterpret_cast %b to offset: [0], sizes: [{1}], strides: [1] : memref<f32> to {5}
      %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, 3, {1}], strides: [{4}, {1}, 1]
        : memref<f32> to memref<?x3x{1}xf32>
      attn.norm_kernel %x {6} {7} into %out <{8}, eps = {9:e}, offset = {10:e}>
        : memref<?x3x{1}xf32, strided<[{2}, {3}, 1]>> {11} {12} into memref<?x3x{1}xf32>
      return
    })",
                         arguments, columns, 3 * pitch, pitch, 3 * columns, row,
                         part(hasWeight, "weight %weight"), part(hasBias, "bias %bias"), kind, eps,
                         offset, part(hasWeight, "weight " + row), part(hasBias, "bias " + row));
  }
};

constexpr Norm layerNorm, rmsNorm{"rms", true, false}, l2Norm{"l2", false, false};

/// The largest error of a norm of rows with this mean and deviation.
double normError(KernelRunner &runner, const Norm &norm, int64_t n, int64_t columns, int64_t pitch,
                 double eps, const vector<float> &x, const vector<float> &weight,
                 const vector<float> &bias, int64_t threads) {
  vector<float> out(n * 3 * columns + 1, guard);
  runner.run("norm", threads, nullptr, nullptr, n, x.data(), weight.data(), bias.data(),
             out.data());
  EXPECT_EQ(out.back(), guard) << "written past the end";
  double worst = 0;
  for (int64_t row = 0; row < 3 * n; ++row) {
    vector<double> expected = norm.of(&x[row * pitch], columns, weight, bias, eps);
    for (int64_t i = 0; i < columns; ++i)
      worst = std::fmax(worst, std::fabs(out[row * columns + i] - expected[i]) /
                                   (1 + std::fabs(expected[i])));
  }
  return worst;
}

TEST_P(NormKernelTest, NormMatchesDouble) {
  for (int64_t columns : {1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 127, 192, 257, 768, 1031}) {
    int64_t pitch = columns + 5, n = 4;
    auto runner = KernelRunner::create(layerNorm.text(columns, pitch, 1e-5), GetParam());
    ASSERT_TRUE(runner);
    vector<float> gamma = random(columns), beta = random(columns);
    // Rounding once each of x - mean, its multiple and the sum: a few units of the last place.
    for (auto [mean, deviation] :
         {std::pair(0.0f, 1.0f), {3.0f, 0.1f}, {1e4f, 1.0f}, {-1e-3f, 1e3f}})
      EXPECT_LE(normError(*runner, layerNorm, n, columns, pitch, 1e-5,
                          random(n * 3 * pitch, mean, deviation), gamma, beta, 2),
                1e-6)
          << columns << " columns around " << mean << ", deviation " << deviation;
  }
}

TEST_P(NormKernelTest, NormsOfAllForms) {
  const Norm norms[] = {{"layer", false, true},
                        {"layer", true, false},
                        {"layer", false, false},
                        {"layer", true, true, 1},
                        rmsNorm,
                        {"rms", false, false},
                        {"rms", true, false, 1},
                        {"rms", true, false, -0.5},
                        l2Norm,
                        {"l2", true, true}};
  for (const Norm &norm : norms)
    for (int64_t columns : {1, 8, 65, 192, 1031}) {
      int64_t pitch = columns + 3, n = 2;
      auto runner = KernelRunner::create(norm.text(columns, pitch, 1e-6), GetParam());
      ASSERT_TRUE(runner);
      for (auto [mean, deviation] : {std::pair(0.0f, 1.0f), {3.0f, 0.1f}, {-1e-3f, 1e3f}})
        EXPECT_LE(normError(*runner, norm, n, columns, pitch, 1e-6,
                            random(n * 3 * pitch, mean, deviation), random(columns),
                            random(columns), 2),
                  1e-6)
            << norm.text(columns, pitch, 1e-6);
    }
}

// A row that is shorter than eps is divided by eps, as torch.nn.functional.normalize does; a row of
// zeros stays zeros.
TEST_P(NormKernelTest, L2NormOfShortRows) {
  const int64_t columns = 65, n = 1;
  auto runner = KernelRunner::create(l2Norm.text(columns, columns, 1e-3), GetParam());
  ASSERT_TRUE(runner);
  for (float deviation : {0.0f, 1e-30f, 1e-6f, 1e-5f, 1e-3f, 1e15f}) {
    vector<float> x = random(3 * columns, 0, deviation), out(3 * columns);
    runner->run("norm", 1, nullptr, nullptr, n, x.data(), x.data(), x.data(), out.data());
    for (int64_t row = 0; row < 3; ++row) {
      vector<double> expected = l2Norm.of(&x[row * columns], columns, x, x, 1e-3);
      for (int64_t i = 0; i < columns; ++i)
        EXPECT_NEAR(out[row * columns + i], expected[i], 1e-6 * std::fabs(expected[i]))
            << "deviation " << deviation;
    }
  }
}

TEST_P(NormKernelTest, NormOfOneLargeElement) {
  const int64_t columns = 768, n = 1;
  auto runner = KernelRunner::create(layerNorm.text(columns, columns, 1e-6), GetParam());
  ASSERT_TRUE(runner);
  vector<float> gamma(columns, 1), beta(columns, 0);
  for (int64_t at : {0, 1, 767}) {
    vector<float> x = random(3 * columns);
    for (int64_t row = 0; row < 3; ++row)
      x[row * columns + at] = 1e6f;
    EXPECT_LE(normError(*runner, layerNorm, n, columns, columns, 1e-6, x, gamma, beta, 1), 1e-6)
        << at;
  }
}

TEST_P(NormKernelTest, NormOfConstantRowsIsBeta) {
  const int64_t columns = 100;
  auto runner = KernelRunner::create(layerNorm.text(columns, columns, 1e-6), GetParam());
  ASSERT_TRUE(runner);
  vector<float> gamma = random(columns), beta = random(columns), out(3 * columns);
  for (float value : {0.0f, 0.1f, 12345.678f, -1e30f}) {
    vector<float> x(3 * columns, value);
    runner->run("norm", 1, nullptr, nullptr, int64_t(1), x.data(), gamma.data(), beta.data(),
                out.data());
    for (int64_t i = 0; i < 3 * columns; ++i)
      EXPECT_EQ(out[i], beta[i % columns]);
  }
}

TEST_P(NormKernelTest, NormOfNaNAndInfinityIsNaN) {
  const int64_t columns = 40;
  auto runner = KernelRunner::create(layerNorm.text(columns, columns, 1e-6), GetParam());
  ASSERT_TRUE(runner);
  vector<float> gamma(columns, 1), beta(columns, 0), out(3 * columns);
  for (float value : {NAN, INFINITY, -INFINITY}) {
    vector<float> x = random(3 * columns);
    x[columns + 33] = value; // of the second row
    runner->run("norm", 1, nullptr, nullptr, int64_t(1), x.data(), gamma.data(), beta.data(),
                out.data());
    for (int64_t i = 0; i < 3 * columns; ++i)
      EXPECT_EQ(std::isnan(out[i]), i / columns == 1);
  }
}

TEST_P(NormKernelTest, SameBitsForAnyNumberOfThreads) {
  const int64_t columns = 193, n = 5;
  auto runner = KernelRunner::create(layerNorm.text(columns, columns, 1e-6), GetParam());
  ASSERT_TRUE(runner);
  vector<float> x = random(n * 3 * columns), gamma = random(columns), beta = random(columns);
  vector<float> first;
  for (int64_t threads : {1, 2, 3, 16, 64}) {
    vector<float> out(n * 3 * columns);
    runner->run("norm", threads, nullptr, nullptr, n, x.data(), gamma.data(), beta.data(),
                out.data());
    if (first.empty())
      first = out;
    EXPECT_EQ(out, first) << threads << " threads";
  }
}

/// Bytes of the norm of [n, columns], in one kernel and in two.
std::string normBytesText(int64_t columns, int64_t pitch, llvm::StringRef element) {
  std::string parameters = "%in: memref<f32>, %g: memref<f32>, %b: memref<f32>, %m: memref<" +
                           element.str() + ">, %to: memref<i8>, %r: memref<f32>";
  std::string buffers = llvm::formatv(R"(
      %x = memref.reinterpret_cast %in to offset: [0], sizes: [%n, {0}], strides: [{0}, 1] : memref<f32> to memref<?x{0}xf32>
      %gamma = memref.reinterpret_cast %g to offset: [0], sizes: [{0}], strides: [1] : memref<f32> to memref<{0}xf32>
      %beta = memref.reinterpret_cast %b to offset: [0], sizes: [{0}], strides: [1] : memref<f32> to memref<{0}xf32>
      %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, {1}], strides: [{1}, 1] : memref<i8> to memref<?x{1}xi8>
      %range = memref.reinterpret_cast %r to offset: [0], sizes: [%n, 2], strides: [2, 1] : memref<f32> to memref<?x2xf32>
      )",
                                      columns, pitch);
  return llvm::formatv(R"(
    func.func @together({0}, {1}) {{{2}
      %scratch = memref.reinterpret_cast %m to offset: [0], sizes: [%threads, {4}], strides: [{4}, 1]
        : memref<{3}> to memref<?x{4}x{3}>
      attn.norm_bytes_kernel %x weight %gamma bias %beta scratch %scratch into %out range %range <layer, eps = 1.0e-5>
        : memref<?x{5}xf32> weight memref<{5}xf32> bias memref<{5}xf32> scratch memref<?x{4}x{3}> into memref<?x{6}xi8>, memref<?x2xf32>
      return
    }
    func.func @normed({0}, {1}) {{{2}
      %rows = memref.reinterpret_cast %m to offset: [0], sizes: [%n, {5}], strides: [{5}, 1]
        : memref<{3}> to memref<?x{5}x{3}>
      attn.norm_kernel %x weight %gamma bias %beta into %rows <layer, eps = 1.0e-5>
        : memref<?x{5}xf32> weight memref<{5}xf32> bias memref<{5}xf32> into memref<?x{5}x{3}>
      return
    }
    func.func @bytes({0}, {1}) {{{2}
      %rows = memref.reinterpret_cast %m to offset: [0], sizes: [%n, {5}], strides: [{5}, 1]
        : memref<{3}> to memref<?x{5}x{3}>
      attn.quantize_kernel %rows into %out range %range : memref<?x{5}x{3}>, memref<?x{6}xi8>, memref<?x2xf32>
      return
    })",
                       arguments, parameters, buffers, element, columns + 3, columns, pitch);
}

TEST_P(NormKernelTest, BytesOfNormedRowsInOneKernelAreThoseOfTwo) {
  if (KernelRunner::isGpu(GetParam()))
    GTEST_SKIP() << "two kernels there";
  for (const char *element : {"f32", "i16"})
    for (int64_t columns : {1, 2, 17, 64, 131, 768}) {
      const int64_t pitch = (columns + 63) / 64 * 64, n = 7, threads = 2;
      auto runner = KernelRunner::create(normBytesText(columns, pitch, element), GetParam());
      ASSERT_TRUE(runner);
      vector<float> x = random(n * columns, 2, 3), gamma = random(columns), beta = random(columns);
      x[3 * columns] = NAN; // its range is NaN, its bytes are what they are
      auto run = [&](vector<llvm::StringRef> kernels) {
        vector<float> rows(n * (columns + 3) + 1, guard), range(2 * n + 1, guard);
        vector<uint8_t> bytes(n * pitch + 1, 77);
        for (llvm::StringRef kernel : kernels)
          runner->run(kernel, threads, nullptr, nullptr, n, x.data(), gamma.data(), beta.data(),
                      rows.data(), bytes.data(), range.data());
        EXPECT_EQ(bytes.back(), 77) << "written past the end";
        EXPECT_EQ(range.back(), guard) << "written past the end";
        if (kernels.size() == 1)
          EXPECT_TRUE(llvm::all_of(llvm::ArrayRef(rows).drop_front(threads * (columns + 3)),
                                   [](float value) { return value == guard; }))
              << "more scratch than a row for each thread";
        EXPECT_TRUE(std::isnan(range[6]));
        range[6] = 0;
        return std::pair(bytes, range);
      };
      auto together = run({"together"}), apart = run({"normed", "bytes"});
      EXPECT_EQ(together.second, apart.second) << columns << " columns by way of " << element;
      for (int64_t row = 0; row < n; ++row)
        if (row != 3)
          EXPECT_EQ(vector(&together.first[row * pitch], &together.first[row * pitch + columns]),
                    vector(&apart.first[row * pitch], &apart.first[row * pitch + columns]))
              << "row " << row << " of " << columns << " columns by way of " << element;
    }
}

} // namespace
} // namespace attn::test
