// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear kernels against sums in double precision. The bound is 2e-6 of the sum of the magnitudes:
// f32 sums of up to 3072 products err by about sqrt(3072) * 2^-24 = 3.3e-6 of a typical term's
// share, GELU by 1e-6.
#pragma once

#include "runtime/base/Dtype.h"
#include "test/unit/kernels/Guarded.h"
#include "test/unit/kernels/KernelRunner.h"
#include "test/unit/kernels/LinearCase.h"
#include "test/unit/kernels/Sample.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace attn::test {

constexpr float untouched = -12288.0f; // of bf16, too

class LinearKernelTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!KernelRunner::supports(GetParam()))
      GTEST_SKIP() << "this machine is below " << GetParam();
  }

  /// Runs a sample of the cases, compiled as one module.
  void check(const std::vector<LinearCase> &all) {
    std::vector<LinearCase> cases = sampleOf(all, GetParam());
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
    if (test.isOfBits)
      return outputsOf<uint16_t>(runner, name, test, data, threads);
    return outputsOf<float>(runner, name, test, data, threads);
  }

  /// Elements [columns / 48][rows][48] with panels as the level has them, in floats bit by bit.
  template <typename Element>
  static std::vector<float> regrouped(const std::vector<float> &stored, const LinearCase &test) {
    const CpuTarget *target = CpuTarget::find(GetParam());
    int64_t width = target ? target->panelWidth : 48, columns = (test.n + 47) / 48 * 48;
    std::vector<float> result(stored.size());
    const auto *from = reinterpret_cast<const Element *>(stored.data());
    auto *to = reinterpret_cast<Element *>(result.data());
    int64_t rows = int64_t(stored.size() * sizeof(float) / sizeof(Element)) / columns;
    for (int64_t i = 0; i < rows * columns; ++i) {
      int64_t column = i / (48 * rows) * 48 + i % 48, row = i / 48 % rows;
      to[(column / width * rows + row) * width + column % width] = from[i];
    }
    return result;
  }

  template <typename Element>
  static std::vector<float> outputsOf(KernelRunner &runner, const std::string &name,
                                      const LinearCase &test, const LinearData &data,
                                      int64_t threads) {
    bool isTransposed = test.isNarrow && GetParam() == std::string("sm_90a");
    const CpuTarget *target = CpuTarget::find(GetParam());
    bool isSigned = test.hasByteRows() && target && target->signedBytes;
    Guarded in(isSigned ? data.signedIn() : data.storedIn),
        panels(isTransposed ? data.transposedPanels()
                            : regrouped<uint32_t>(data.storedPanels, test)),
        bias(data.bias), c0(data.captures[0]), c1(data.captures[1]),
        range(isSigned ? data.signedRange() : data.range),
        scales(test.hasGroups() ? regrouped<uint16_t>(data.scales, test) : data.scales),
        rounded(data.rounded),
        room(std::vector<float>(test.hasRoom ? (threads + test.sharedRows()) * test.roomFloats()
                                             : 0));
    Element old = std::is_same_v<Element, float> ? Element(untouched) : floatToBfloat(untouched);
    std::vector<Element> before(test.out.elements(), old);
    if (test.isInPlace)
      before.assign(data.captures[0].begin(), data.captures[0].end());
    Guarded out(before);
    runner.run(name, threads, nullptr, nullptr, test.in.sizes[0], in.begin(), panels.begin(),
               bias.begin(), out.begin(), c0.begin(), c1.begin(), range.begin(), scales.begin(),
               data.sums.data(), rounded.begin(), room.begin(), data.byteScales.data(),
               data.byteSums.data());
    std::vector<float> result(out.begin(), out.end());
    if (test.isOfBits)
      std::transform(out.begin(), out.end(), result.begin(), bfloatToFloat);
    return result;
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
        double rounding = test.isOfBits ? 0x1.01p-8 * std::abs(sum) : 0;
        double error = std::max(std::abs(out[place] - sum) - rounding, 0.0) / (magnitude + 1e-30);
        worst =
            std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
        isOutput[place] = true;
      }
    EXPECT_LT(worst, 2e-6);
    for (size_t i = 0; i < out.size(); ++i)
      if (!isOutput[i])
        ASSERT_EQ(out[i], untouched) << "written at element " << i << ", which is not an output";
    for (int64_t threads : {int64_t(2), int64_t(3), int64_t(7), LinearCase::mostThreads})
      EXPECT_TRUE(outputs(runner, name, test, data, threads) == out)
          << "other bits with " << threads << " threads";
  }

  std::mt19937 random{20261121};
};

} // namespace attn::test
