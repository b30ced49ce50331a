// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention on a GPU's tensor cores, interpreted, against plain loops in double precision, from
// buffers of f32, which are rounded on their way, and of bf16 and f16. With ATTN_PTX_FOLDER the PTX
// of each kernel is left there instead of being run, for ptxas (test/gpu/ptxas.test).
#pragma once

#include "test/unit/kernels/AttentionCase.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace attn::test {

/// Weights and outputs are rounded to halves, 2^-9 of bf16 at most each and 2^-12 of f16, and
/// errors of both signs add up.
inline double relativeL2(const AttentionCase &c) { return c.isF16() ? 6e-4 : 5e-3; }

/// A kernel of portable instructions, on buffers of f32 or halves, or Hopper's own.
struct Path {
  const char *name, *chip;
  bool isHalf;
  const char *half = "bf16";

  // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name
  friend void PrintTo(const Path &path, std::ostream *stream) { *stream << path.name; }
};

class GpuAttentionTest : public testing::TestWithParam<Path> {
protected:
  using Case = AttentionCase;
  using Buffers = AttentionBuffers;

  Case stored(Case c) {
    c.rounds = true, c.isHalf = GetParam().isHalf, c.half = GetParam().half, c.isScaled = false;
    return c;
  }

  /// Null where nothing is to be run.
  std::unique_ptr<KernelRunner> compile(const Case &c) {
    auto runner = KernelRunner::create(c.text(), GetParam().chip);
    const char *folder = std::getenv("ATTN_PTX_FOLDER");
    if (!folder || !runner)
      return runner;
    auto *test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(test->test_suite_name()) + "." + test->name();
    std::replace(name.begin(), name.end(), '/', '.');
    std::ofstream(std::string(folder) + "/" + std::to_string(compiled++) + "." + name + ".ptx")
        << runner->ptx;
    return nullptr;
  }

  void check(const Case &c, Buffers &in) {
    double error = 0, norm = 0;
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t m = 0; m < c.queries; ++m) {
          std::vector<double> weights = weightsOf(c, in, b, h, m);
          for (int64_t d = 0; d < c.valueFeatures; ++d) {
            double expected = expectedOf(c, in, weights, b, h, d).first;
            error += std::pow(in.outRow(b, h, m)[d] - expected, 2), norm += expected * expected;
          }
        }
    ASSERT_LE(std::sqrt(error), relativeL2(c) * std::sqrt(norm)) << c.name();
    ASSERT_TRUE(in.areGuardsWhole()) << c.name() << ": written outside";
  }

  /// A value that is not finite reaches the queries that see it, and no others; scores of NaN
  /// behind the mask reach none.
  void checkBehindTheMask();

  void runCase(const Case &wanted) {
    Case c = stored(wanted);
    auto runner = compile(c);
    if (!runner)
      return;
    Buffers alone(c, 7), team(c, 7);
    alone.run(*runner, 1);
    check(c, alone);
    team.run(*runner, 3);
    EXPECT_EQ(alone.out, team.out) << c.name() << ": three blocks differ from one";
  }

  int compiled = 0; ///< kernels of the test
};

} // namespace attn::test
