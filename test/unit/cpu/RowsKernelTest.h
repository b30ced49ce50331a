// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests of kernels on rows share: random rows, and the arguments that all kernels have.
#pragma once

#include "test/unit/kernels/KernelRunner.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace attn::test {

using std::vector;

constexpr const char *arguments = "%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, "
                                  "%thread: index, %threads: index, %n: index";
constexpr float guard = -12345.0f;
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Of a level, or a chip that the interpreter of PTX stands for.
class RowsKernelTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!KernelRunner::supports(GetParam()))
      GTEST_SKIP() << "this machine is below " << GetParam();
  }

  vector<float> random(size_t count, float mean = 0, float deviation = 1) {
    vector<float> values(count);
    std::normal_distribution<float> normal(mean, deviation);
    for (float &value : values)
      value = normal(generator);
    return values;
  }

  std::mt19937 generator{20261121};
};

} // namespace attn::test
