// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic, logic and conversions, lane by lane, against the host's: one instruction on random
// and on special operands.
#include "test/gpu/interpreter/Numbers.h"
#include "test/unit/ptx/KernelText.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace attn::ptx;
using namespace attn::ptx::test;

namespace {

/// Runs `body` for each of the inputs, whose a, b and c are in %rd4, %rd5, %rd6 as 64-bit
/// registers, %r4.. as 32-bit and %f4.. as f32 ones; the result is %rd8.
std::vector<uint64_t> compute(const std::string &body, const std::vector<uint64_t> &a,
                              const std::vector<uint64_t> &b, const std::vector<uint64_t> &c) {
  std::vector<uint64_t> out(a.size());
  Device device;
  std::string text = kernelText(".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out", R"(
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd1, %r1, 8;
    ld.param.u64 %rd2, [a];
    add.s64 %rd2, %rd2, %rd1;
    ld.global.b64 %rd4, [%rd2];
    ld.param.u64 %rd2, [b];
    add.s64 %rd2, %rd2, %rd1;
    ld.global.b64 %rd5, [%rd2];
    ld.param.u64 %rd2, [c];
    add.s64 %rd2, %rd2, %rd1;
    ld.global.b64 %rd6, [%rd2];
    cvt.u32.u64 %r4, %rd4;
    cvt.u32.u64 %r5, %rd5;
    cvt.u32.u64 %r6, %rd6;
    mov.b32 %f4, %r4;
    mov.b32 %f5, %r5;
    mov.b32 %f6, %r6;
    cvt.u16.u32 %h4, %r4;
    cvt.u16.u32 %h5, %r5;
    cvt.u16.u32 %h6, %r6;
)" + body + R"(
    ld.param.u64 %rd2, [out];
    add.s64 %rd2, %rd2, %rd1;
    st.global.b64 [%rd2], %rd8;
    ret;)");
  Result result = launchText(
      {text,
       device,
       {1},
       {uint32_t(a.size())},
       0,
       {device.map(a, "a"), device.map(b, "b"), device.map(c, "c"), device.map(out, "out")}},
      1);
  EXPECT_EQ(result.error, "") << body;
  return out;
}

constexpr size_t count = 256;

std::vector<uint64_t> randomBits(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> bits(count);
  for (size_t i = 0; i < count; ++i)
    bits[i] = i % 8 == 0 ? random() % 40 : random();
  static constexpr uint64_t special[] = {0, ~0ull, 0x80000000, 0x7fffffff, 1ull << 63, 1, 31, 32};
  for (size_t i = 0; i < 8; ++i)
    bits[(i * 37 + seed) % count] = special[i];
  return bits;
}

/// f32 numbers of moderate size, and the special ones.
std::vector<uint64_t> randomFloats(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-8, 8);
  std::vector<uint64_t> bits(count);
  for (uint64_t &number : bits)
    number = bitsOf(uniform(random));
  static const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, 1.0f};
  for (size_t i = 0; i < 64; ++i)
    bits[(i * 5 + seed) % count] = bitsOf(special[(i + seed * (i / 8)) % 8]);
  return bits;
}

std::vector<uint64_t> a() { return randomBits(1); }
std::vector<uint64_t> b() { return randomBits(2); }
std::vector<uint64_t> c() { return randomBits(3); }

template <typename Expected> void expect32(const std::string &instruction, Expected expected) {
  auto out = compute(instruction + "\ncvt.u64.u32 %rd8, %r8;", a(), b(), c());
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(uint32_t(out[i]),
              uint32_t(expected(uint32_t(a()[i]), uint32_t(b()[i]), uint32_t(c()[i]))))
        << instruction << " of " << uint32_t(a()[i]) << ", " << uint32_t(b()[i]) << ", "
        << uint32_t(c()[i]);
}

template <typename Expected> void expect64(const std::string &instruction, Expected expected) {
  auto out = compute(instruction, a(), b(), c());
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(out[i], uint64_t(expected(a()[i], b()[i], c()[i])))
        << instruction << " of " << a()[i] << ", " << b()[i] << ", " << c()[i];
}

/// f32 results bit by bit; every NaN is the same.
template <typename Expected> void expectFloat(const std::string &instruction, Expected expected) {
  auto x = randomFloats(1);
  auto y = randomFloats(2);
  auto z = randomFloats(3);
  auto out = compute(instruction + "\nmov.b32 %r8, %f8;\ncvt.u64.u32 %rd8, %r8;", x, y, z);
  for (size_t i = 0; i < count; ++i) {
    float want = expected(floatOf(x[i]), floatOf(y[i]), floatOf(z[i]));
    uint64_t bits = std::isnan(want) ? 0x7fffffff : bitsOf(want);
    ASSERT_EQ(out[i], bits) << instruction << " of " << floatOf(x[i]) << ", " << floatOf(y[i])
                            << ", " << floatOf(z[i]);
  }
}

} // namespace

TEST(Integers, add_multiply_divide) {
  expect32("add.s32 %r8, %r4, %r5;", [](uint32_t x, uint32_t y, uint32_t) { return x + y; });
  expect32("sub.s32 %r8, %r4, %r5;", [](uint32_t x, uint32_t y, uint32_t) { return x - y; });
  expect32("mad.lo.s32 %r8, %r4, %r5, %r6;",
           [](uint32_t x, uint32_t y, uint32_t z) { return x * y + z; });
  expect32("mul.hi.u32 %r8, %r4, %r5;",
           [](uint32_t x, uint32_t y, uint32_t) { return uint64_t(x) * y >> 32; });
  expect32("mul.hi.s32 %r8, %r4, %r5;",
           [](uint32_t x, uint32_t y, uint32_t) { return int64_t(int32_t(x)) * int32_t(y) >> 32; });
  expect64("mul.wide.s32 %rd8, %r4, %r5;",
           [](uint64_t x, uint64_t y, uint64_t) { return int64_t(int32_t(x)) * int32_t(y); });
  expect64("mad.wide.u32 %rd8, %r4, %r5, %rd6;", [](uint64_t x, uint64_t y, uint64_t z) {
    return uint64_t(uint32_t(x)) * uint32_t(y) + z;
  });
  expect64("mul.lo.s64 %rd8, %rd4, %rd5;", [](uint64_t x, uint64_t y, uint64_t) { return x * y; });
  expect64("div.u64 %rd8, %rd4, %rd5;",
           [](uint64_t x, uint64_t y, uint64_t) { return y ? x / y : ~0ull; });
  expect32("rem.u32 %r8, %r4, %r5;",
           [](uint32_t x, uint32_t y, uint32_t) { return y ? x % y : x; });
  expect32("div.s32 %r8, %r4, %r5;", [](uint32_t x, uint32_t y, uint32_t) {
    return y ? int64_t(int32_t(x)) / int32_t(y) : -1;
  });
}

TEST(Integers, least_greatest_signs) {
  expect32("min.s32 %r8, %r4, %r5;",
           [](uint32_t x, uint32_t y, uint32_t) { return std::min(int32_t(x), int32_t(y)); });
  expect32("max.u32 %r8, %r4, %r5;",
           [](uint32_t x, uint32_t y, uint32_t) { return std::max(x, y); });
  expect32("abs.s32 %r8, %r4;",
           [](uint32_t x, uint32_t, uint32_t) { return int32_t(x) < 0 ? -x : x; });
  expect64("neg.s64 %rd8, %rd4;", [](uint64_t x, uint64_t, uint64_t) { return -x; });
}

TEST(Integers, bits) {
  expect32("and.b32 %r8, %r4, %r5;", [](uint32_t x, uint32_t y, uint32_t) { return x & y; });
  expect32("or.b32 %r8, %r4, %r5;", [](uint32_t x, uint32_t y, uint32_t) { return x | y; });
  expect64("xor.b64 %rd8, %rd4, %rd5;", [](uint64_t x, uint64_t y, uint64_t) { return x ^ y; });
  expect32("not.b32 %r8, %r4;", [](uint32_t x, uint32_t, uint32_t) { return ~x; });
  expect32("shl.b32 %r8, %r4, %r5;",
           [](uint32_t x, uint32_t y, uint32_t) { return y > 31 ? 0 : x << y; });
  expect32("shr.s32 %r8, %r4, %r5;",
           [](uint32_t x, uint32_t y, uint32_t) { return int32_t(x) >> std::min(y, 31u); });
  expect64("shr.u64 %rd8, %rd4, %r5;", [](uint64_t x, uint64_t y, uint64_t) {
    return uint32_t(y) > 63 ? 0 : x >> uint32_t(y);
  });
  expect32("shf.l.wrap.b32 %r8, %r4, %r5, %r6;", [](uint32_t x, uint32_t y, uint32_t z) {
    return ((uint64_t(y) << 32 | x) << (z & 31)) >> 32;
  });
  expect32("shf.r.clamp.b32 %r8, %r4, %r5, %r6;", [](uint32_t x, uint32_t y, uint32_t z) {
    return (uint64_t(y) << 32 | x) >> std::min(z, 32u);
  });
  expect32("lop3.b32 %r8, %r4, %r5, %r6, 0xe8;",
           [](uint32_t x, uint32_t y, uint32_t z) { return (x & y) | (x & z) | (y & z); });
  expect32("popc.b32 %r8, %r4;",
           [](uint32_t x, uint32_t, uint32_t) { return __builtin_popcount(x); });
  expect32("bfind.u32 %r8, %r4;",
           [](uint32_t x, uint32_t, uint32_t) { return x ? 31 - __builtin_clz(x) : ~0u; });
  expect32("clz.b32 %r8, %r4;",
           [](uint32_t x, uint32_t, uint32_t) { return x ? __builtin_clz(x) : 32; });
  expect32("bfe.u32 %r8, %r4, 5, 9;",
           [](uint32_t x, uint32_t, uint32_t) { return x >> 5 & 0x1ff; });
  expect32("bfe.s32 %r8, %r4, 28, 9;",
           [](uint32_t x, uint32_t, uint32_t) { return int32_t(x) >> 28; });
  expect32("bfi.b32 %r8, %r4, %r5, 8, 16;",
           [](uint32_t x, uint32_t y, uint32_t) { return (y & ~0xffff00u) | (x & 0xffff) << 8; });
  expect32("prmt.b32 %r8, %r4, %r5, 0x5410;",
           [](uint32_t x, uint32_t y, uint32_t) { return (x & 0xffff) | y << 16; });
  expect32("prmt.b32 %r8, %r4, %r5, 0xba98;", [](uint32_t x, uint32_t, uint32_t) {
    uint32_t signs = 0;
    for (int i = 0; i < 4; ++i)
      signs |= (x >> (8 * i + 7) & 1 ? 0xffu : 0) << (8 * i);
    return signs;
  });
  expect32("brev.b32 %r8, %r4;", [](uint32_t x, uint32_t, uint32_t) {
    uint32_t reversed = 0;
    for (int i = 0; i < 32; ++i)
      reversed |= (x >> i & 1) << (31 - i);
    return reversed;
  });
}

TEST(Integers, products_of_bytes) {
  auto sum = [](uint32_t x, uint32_t y, uint32_t z, bool isSigned) {
    for (int shift = 0; shift < 32; shift += 8) {
      int left = isSigned ? int8_t(x >> shift) : uint8_t(x >> shift);
      z += uint32_t(left * int8_t(y >> shift));
    }
    return z;
  };
  expect32("dp4a.u32.s32 %r8, %r4, %r5, %r6;",
           [&](uint32_t x, uint32_t y, uint32_t z) { return sum(x, y, z, false); });
  expect32("dp4a.s32.s32 %r8, %r4, %r5, %r6;",
           [&](uint32_t x, uint32_t y, uint32_t z) { return sum(x, y, z, true); });
  expect32("dp4a.u32.u32 %r8, %r4, 0x01020304, 7;", [](uint32_t x, uint32_t, uint32_t) {
    return 7 + (x & 255) * 4 + (x >> 8 & 255) * 3 + (x >> 16 & 255) * 2 + (x >> 24);
  });
}

TEST(Integers, compare_and_select) {
  expect32("setp.lt.s32 %p1, %r4, %r5;\nselp.b32 %r8, %r4, %r5, %p1;",
           [](uint32_t x, uint32_t y, uint32_t) { return int32_t(x) < int32_t(y) ? x : y; });
  expect32("setp.gt.u32 %p1, %r5, %r6;\nsetp.lo.and.u32 %p2|%p3, %r4, %r5, %p1;\n"
           "selp.b32 %r8, 1, 0, %p2;\nselp.b32 %r9, 2, 0, %p3;\nadd.s32 %r8, %r8, %r9;",
           [](uint32_t x, uint32_t y, uint32_t z) { return y > z ? (x < y ? 1 : 2) : 0; });
  expect64("setp.ne.b64 %p1, %rd4, %rd5;\nnot.pred %p2, %p1;\nselp.b64 %rd8, 7, 9, %p2;",
           [](uint64_t x, uint64_t y, uint64_t) { return x == y ? 7 : 9; });
  expect32("mov.b64 {%r9, %r10}, %rd4;\nmov.b64 %rd9, {%r10, %r9};\nshr.u64 %rd9, %rd9, 32;\n"
           "cvt.u32.u64 %r8, %rd9;",
           [](uint32_t x, uint32_t, uint32_t) { return x; });
}

TEST(Floats, are_the_hosts) {
  expectFloat("add.rn.f32 %f8, %f4, %f5;", [](float x, float y, float) { return x + y; });
  expectFloat("sub.f32 %f8, %f4, %f5;", [](float x, float y, float) { return x - y; });
  expectFloat("mul.f32 %f8, %f4, %f5;", [](float x, float y, float) { return x * y; });
  expectFloat("div.rn.f32 %f8, %f4, %f5;", [](float x, float y, float) { return x / y; });
  expectFloat("fma.rn.f32 %f8, %f4, %f5, %f6;",
              [](float x, float y, float z) { return std::fma(x, y, z); });
  expectFloat("fma.rn.ftz.f32 %f8, %f4, %f5, %f6;", [](float x, float y, float z) {
    return flushDenormal(std::fma(flushDenormal(x), flushDenormal(y), flushDenormal(z)));
  });
  expectFloat("add.sat.f32 %f8, %f4, %f5;",
              [](float x, float y, float) { return x + y > 0 ? std::fmin(x + y, 1.0f) : 0.0f; });
  expectFloat("sqrt.rn.f32 %f8, %f4;", [](float x, float, float) { return std::sqrt(x); });
  expectFloat("rcp.rn.f32 %f8, %f4;", [](float x, float, float) { return 1 / x; });
  expectFloat("abs.f32 %f8, %f4;\nadd.f32 %f8, %f8, 0f00000000;",
              [](float x, float, float) { return std::fabs(x); });
  expectFloat("ex2.approx.ftz.f32 %f8, %f4;", [](float x, float, float) {
    return flushDenormal(float(std::exp2(double(flushDenormal(x)))));
  });
}

TEST(Floats, approximations_are_rounded_correctly) {
  using Function = double (*)(double);
  for (const auto &[name, function] : std::vector<std::pair<std::string, Function>>{
           {"rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }},
           {"lg2.approx.f32", [](double x) { return std::log2(x); }},
           {"sin.approx.f32", [](double x) { return std::sin(x); }},
           {"cos.approx.f32", [](double x) { return std::cos(x); }},
           {"tanh.approx.f32", [](double x) { return std::tanh(x); }},
           {"sqrt.approx.f32", [](double x) { return std::sqrt(x); }}})
    expectFloat(name + " %f8, %f4;",
                [&, call = function](float x, float, float) { return float(call(x)); });
  expectFloat("copysign.f32 %f8, %f4, %f5;\nadd.f32 %f8, %f8, 0f00000000;",
              [](float x, float y, float) { return std::copysign(y, x) + 0.0f; });
}

TEST(Floats, doubles_are_the_hosts) {
  auto x = randomFloats(6);
  auto y = randomFloats(7);
  auto out = compute("cvt.f64.f32 %rd9, %f4;\ncvt.f64.f32 %rd10, %f5;\n"
                     "fma.rn.f64 %rd11, %rd9, %rd10, %rd9;\ndiv.rn.f64 %rd11, %rd11, %rd10;\n"
                     "setp.num.f64 %p1, %rd11, %rd11;\nselp.f64 %rd8, %rd11, 0d0000000000000000, "
                     "%p1;",
                     x, y, x);
  for (size_t i = 0; i < count; ++i) {
    double p = floatOf(x[i]);
    double q = floatOf(y[i]);
    double want = std::fma(p, q, p) / q;
    ASSERT_EQ(out[i], std::isnan(want) ? 0 : bitsOf(want)) << p << ", " << q;
  }
}

TEST(Floats, least_and_greatest) {
  auto greater = [](float x, float y, float) {
    return std::isnan(x)   ? y
           : std::isnan(y) ? x
           : x == y        ? (std::signbit(x) ? y : x)
                           : std::max(x, y);
  };
  expectFloat("max.f32 %f8, %f4, %f5;", greater);
  expectFloat("max.NaN.f32 %f8, %f4, %f5;", [&](float x, float y, float z) {
    return std::isnan(x) || std::isnan(y) ? NAN : greater(x, y, z);
  });
  expectFloat("neg.f32 %f4, %f4;\nneg.f32 %f5, %f5;\nmin.f32 %f8, %f4, %f5;\nmul.f32 %f8, %f8, "
              "0fBF800000;",
              greater);
  expectFloat("setp.ltu.f32 %p1, %f4, %f5;\nselp.f32 %f8, 0f3F800000, 0f00000000, %p1;",
              [](float x, float y, float) { return x >= y ? 0.0f : 1.0f; });
}

TEST(Conversions, between_floats_and_integers) {
  expectFloat("cvt.rzi.s32.f32 %r9, %f4;\ncvt.rn.f32.s32 %f8, %r9;", [](float x, float, float) {
    if (std::isnan(x))
      return 0.0f;
    return float(int32_t(std::clamp(double(std::trunc(x)), -2147483648.0, 2147483647.0)));
  });
  expectFloat("cvt.rni.u32.f32 %r9, %f4;\ncvt.rn.f32.u32 %f8, %r9;", [](float x, float, float) {
    return std::isnan(x)
               ? 0.0f
               : float(uint32_t(std::clamp(double(std::nearbyint(x)), 0.0, 4294967295.0)));
  });
  expectFloat("cvt.rmi.f32.f32 %f8, %f4;", [](float x, float, float) { return std::floor(x); });
  expectFloat("cvt.f64.f32 %rd9, %f4;\nadd.f64 %rd9, %rd9, 0d3E70000000000000;\n"
              "cvt.rn.f32.f64 %f8, %rd9;",
              [](float x, float, float) { return float(double(x) + std::ldexp(1.0, -24)); });
  expect64("cvt.s64.s32 %rd8, %r4;",
           [](uint64_t x, uint64_t, uint64_t) { return int64_t(int32_t(x)); });
  expect32("cvt.sat.s8.s32 %r8, %r4;\nand.b32 %r8, %r8, 255;",
           [](uint32_t x, uint32_t, uint32_t) { return std::clamp(int32_t(x), -128, 127) & 255; });
}

/// bf16 by adding half a unit to the bits: nearest even in integers.
static uint32_t bfloatBits(float value) {
  auto bits = uint32_t(bitsOf(value));
  return std::isnan(value) ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

TEST(Conversions, bfloats_are_packed_first_operand_high) {
  auto x = randomFloats(4);
  auto y = randomFloats(5);
  auto out = compute("cvt.rn.bf16x2.f32 %r8, %f4, %f5;\ncvt.u64.u32 %rd8, %r8;", x, y, x);
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(out[i], uint64_t(bfloatBits(floatOf(x[i]))) << 16 | bfloatBits(floatOf(y[i])));
}

/// tf32 has ten bits of the fraction: by adding half a unit to the magnitude, ties go away from
/// zero.
TEST(Conversions, tf32_ties_go_away_from_zero) {
  auto x = randomFloats(4);
  for (size_t i = 0; i < count; i += 2)
    x[i] = (x[i] & ~0x1fffu) | 0x1000; // half way
  auto out = compute("cvt.rna.tf32.f32 %r8, %f4;\ncvt.u64.u32 %rd8, %r8;", x, x, x);
  for (size_t i = 0; i < count; ++i)
    if (std::isfinite(floatOf(x[i])))
      ASSERT_EQ(out[i], uint64_t((uint32_t(x[i]) + 0x1000) & ~0x1fffu)) << x[i];
}

TEST(Conversions, every_half_survives) {
  for (NarrowFormat format : {f16Format, bf16Format})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      double value = widen(uint16_t(bits), format);
      ASSERT_EQ(narrow(value, format), std::isnan(value) ? 0x7fff : bits);
    }
  EXPECT_EQ(widen(0x3c00, f16Format), 1.0);
  EXPECT_EQ(widen(0x0001, f16Format), std::ldexp(1.0, -24));
  EXPECT_EQ(narrow(65519.9, f16Format), 0x7bff);
  EXPECT_EQ(narrow(65520, f16Format), 0x7c00);
  EXPECT_EQ(narrow(65520, f16Format, true), 0x7bff);
  // Ties to even: 2049 and 2051 lie between numbers.
  EXPECT_EQ(widen(narrow(2049, f16Format), f16Format), 2048);
  EXPECT_EQ(widen(narrow(2051, f16Format), f16Format), 2052);
}

TEST(Conversions, halves_compute_in_pairs) {
  auto out = compute("fma.rn.bf16x2 %r8, %r4, %r5, %r6;\ncvt.u64.u32 %rd8, %r8;", a(), b(), c());
  for (size_t i = 0; i < count; ++i)
    for (int shift : {0, 16}) {
      auto part = [&](uint64_t bits) { return widen(uint16_t(bits >> shift), bf16Format); };
      double value = std::fma(part(a()[i]), part(b()[i]), part(c()[i]));
      ASSERT_EQ(uint16_t(out[i] >> shift), narrow(value, bf16Format));
    }
}
