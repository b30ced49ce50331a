// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that attn-expand-math makes, over samples of all floats, against libm in double
// precision. The bounds are those of compiler/cpu/functions.md.
#include "test/unit/kernels/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace attn::test {
namespace {

using Reference = double (*)(double);

/// The distance of floats at a number.
double unitOf(double value) {
  value = std::fabs(value);
  if (value < 0x1p-126)
    return 0x1p-149;
  int exponent;
  std::frexp(value, &exponent);
  return std::ldexp(1, exponent - 24);
}

bool sameKind(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) == std::isnan(b);
  return a == b || (std::isfinite(a) && std::isfinite(b));
}

/// A module with `out = op(x)` and, for two operands, `out = op(x, y)` over n elements. `op` is
/// its name and, after a space, its flags.
std::string text(llvm::StringRef op, bool isBinary) {
  const char *row = "memref<?xf32, strided<[1]>>";
  return llvm::formatv(R"(
    func.func @f(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index,
                 %threads: index, %n: index, %xs: memref<f32>, %ys: memref<f32>, %to: memref<f32>) {{
      %x = memref.reinterpret_cast %xs to offset: [0], sizes: [%n], strides: [1] : memref<f32> to {1}
      %y = memref.reinterpret_cast %ys to offset: [0], sizes: [%n], strides: [1] : memref<f32> to {1}
      %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n], strides: [1] : memref<f32> to {1}
      attn.map_kernel (%x, %y) into %out : ({1}, {1}), {1} {{
      ^bb0(%a: f32, %b: f32):
        %r = {0} %a{2} {3} : f32
        attn.yield %r : f32
      }
      return
    })",
                       op.split(' ').first, row, isBinary ? ", %b" : "", op.split(' ').second);
}

class Function {
public:
  Function(llvm::StringRef op, llvm::StringRef level, bool isBinary = false)
      : runner(KernelRunner::create(text(op, isBinary), level)) {}

  std::vector<float> operator()(const std::vector<float> &x, const std::vector<float> &y) {
    std::vector<float> out(x.size());
    if (runner)
      runner->run("f", 1, nullptr, nullptr, int64_t(x.size()), x.data(), y.data(), out.data());
    return out;
  }

private:
  std::unique_ptr<KernelRunner> runner;
};

/// Every `step`th float of all, NaNs among them, and where a step of them may hide something:
/// around 0, 1, the infinities.
std::vector<float> samples(uint32_t step) {
  std::vector<float> result = {0.0f, -0.0f,     1.0f,       -1.0f,         INFINITY,      -INFINITY,
                               NAN,  0x1p-149f, -0x1p-149f, 3.4028235e38f, -3.4028235e38f};
  for (uint64_t bits = 0; bits < (1ull << 32); bits += step) {
    uint32_t pattern = bits;
    float value;
    std::memcpy(&value, &pattern, sizeof value);
    result.push_back(value);
  }
  return result;
}

class MathTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!KernelRunner::supports(GetParam()))
      GTEST_SKIP() << "this machine is below " << GetParam();
  }

  /// Holds `op` to `units` of the last place, for |x| <= `limit`.
  void check(llvm::StringRef op, Reference reference, double units, double limit = INFINITY) {
    Function function(op, GetParam());
    std::vector<float> x = samples(1021);
    std::vector<float> out = function(x, x);
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::fabs(x[i]) > limit)
        continue;
      double expected = reference(x[i]);
      ASSERT_TRUE(sameKind(out[i], float(expected)))
          << op.str() << " of " << x[i] << " is " << out[i] << ", not " << expected;
      if (!std::isfinite(out[i]))
        continue; // as it should be: beyond the largest float, though a double holds it
      double error = std::fabs(out[i] - expected) / unitOf(expected);
      if (error > worst)
        worst = error, at = x[i];
    }
    EXPECT_LE(worst, units) << op.str() << " of " << at;
    RecordProperty("worst", std::to_string(worst));
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, MathTest, testing::Values("x86-64-v3", "x86-64-v4", "neon"));

TEST_P(MathTest, Exp2) {
  bool byTable = GetParam() == llvm::StringRef("x86-64-v4");
  check("math.exp2", [](double x) { return std::exp2(x); }, byTable ? 1.75 : 1);
}

/// A relative error of 8.6e-5, where it is rough.
TEST_P(MathTest, RoughExp2) {
  bool isRough = GetParam() == llvm::StringRef("x86-64-v4");
  check(
      "math.exp2 fastmath<afn>", [](double x) { return std::exp2(x); },
      isRough ? 8.6e-5 * 0x1p24 : 1);
}

TEST_P(MathTest, Exp) {
  check("math.exp", [](double x) { return std::exp(x); }, 1.5);
}

TEST_P(MathTest, Erf) {
  bool byTables = GetParam() == llvm::StringRef("x86-64-v4");
  check("math.erf", [](double x) { return std::erf(x); }, byTables ? 4.3 : 6);
}

TEST_P(MathTest, Tanh) {
  bool byTables = GetParam() == llvm::StringRef("x86-64-v4");
  check("math.tanh", [](double x) { return std::tanh(x); }, byTables ? 2.9 : 5);
}

TEST_P(MathTest, Log) {
  check("math.log", [](double x) { return std::log(x); }, 0.51);
}

TEST_P(MathTest, Log2) {
  check("math.log2", [](double x) { return std::log2(x); }, 0.51);
}

TEST_P(MathTest, Log1p) {
  check("math.log1p", [](double x) { return std::log1p(x); }, 0.51);
}

TEST_P(MathTest, Sin) {
  check("math.sin", [](double x) { return std::sin(x); }, 0.51, 0x1p50);
}

TEST_P(MathTest, Cos) {
  check("math.cos", [](double x) { return std::cos(x); }, 0.51, 0x1p50);
}

TEST_P(MathTest, Sqrt) {
  check("math.sqrt", [](double x) { return std::sqrt(x); }, 0.5);
}

TEST_P(MathTest, Rsqrt) {
  check("math.rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5);
}

TEST_P(MathTest, Floor) {
  check("math.floor", [](double x) { return std::floor(x); }, 0);
}

TEST_P(MathTest, ErfAndTanhEndAtOne) {
  std::vector<float> x = {4, 5, 10, 1e10f, INFINITY};
  for (const char *op : {"math.erf", "math.tanh"}) {
    Function function(op, GetParam());
    std::vector<float> ends = op == std::string("math.tanh") ? std::vector<float>(5, 20.0f) : x;
    for (float value : function(ends, ends))
      EXPECT_EQ(value, 1.0f) << op;
    for (float &value : ends)
      value = -value;
    for (float value : function(ends, ends))
      EXPECT_EQ(value, -1.0f) << op;
  }
}

TEST_P(MathTest, Pow) {
  const std::vector<float> some = {0,      -0.0f,  1,       -1,       INFINITY,  -INFINITY, NAN,
                                   2,      -2,     0.5f,    -0.5f,    3,         -3,        1e30f,
                                   -1e30f, 1e-40f, -1e-40f, 16777216, -16777215, 2.5f,      -2.5f};
  std::vector<float> x, y;
  for (float a : some)
    for (float b : some)
      x.push_back(a), y.push_back(b);
  uint32_t state = 1;
  auto random = [&] { return (state = state * 1664525u + 1013904223u) / 4294967296.0 - 0.5; };
  for (int i = 0; i < 2000000; ++i) {
    double log = random() * 250;
    x.push_back(std::exp2(log));
    y.push_back(random() * 300 / (std::fabs(log) + 0.01));
    if (i % 7 == 0)
      x.back() = -x.back(), y.back() = std::rint(y.back());
  }
  Function function("math.powf", GetParam(), true);
  std::vector<float> out = function(x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    double expected = std::pow(double(x[i]), double(y[i]));
    ASSERT_TRUE(sameKind(out[i], float(expected)) &&
                (std::isnan(out[i]) || std::signbit(out[i]) == std::signbit(expected)))
        << x[i] << " to " << y[i] << " is " << out[i] << ", not " << expected;
    if (std::isfinite(out[i]))
      ASSERT_LE(std::fabs(out[i] - expected), 0.51 * unitOf(expected)) << x[i] << " to " << y[i];
  }
}

TEST_P(MathTest, MaximumAndMinimumKeepNaN) {
  const std::vector<float> some = {0, 1, -1, INFINITY, -INFINITY, NAN, 1e30f, -1e-40f};
  std::vector<float> x, y;
  for (float a : some)
    for (float b : some)
      x.push_back(a), y.push_back(b);
  Function maximum("arith.maximumf", GetParam(), true), minimum("arith.minimumf", GetParam(), true);
  std::vector<float> most = maximum(x, y), least = minimum(x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    bool isNaN = std::isnan(x[i]) || std::isnan(y[i]);
    float larger = isNaN ? NAN : std::fmax(x[i], y[i]),
          smaller = isNaN ? NAN : std::fmin(x[i], y[i]);
    EXPECT_TRUE(sameKind(most[i], larger) && (isNaN || most[i] == larger)) << x[i] << ", " << y[i];
    EXPECT_TRUE(sameKind(least[i], smaller) && (isNaN || least[i] == smaller))
        << x[i] << ", " << y[i];
  }
}

} // namespace
} // namespace attn::test
