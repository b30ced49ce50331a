// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers by index (SplitMix64's output function of Steele, Lea and Flood over a counter)
// and the Box-Muller transform. Logarithm, sine and cosine are series of our own: libm's last bits
// differ between versions and CPUs. Nothing here may be contracted to fused multiply-adds (see
// CMakeLists).
#include "base/Random.h"
#include "base/Names.h"
#include <cmath>

using namespace attn;

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

RandomStream::RandomStream(uint64_t seed, const char *name, size_t length)
    : key(mix(hashName(name, length) + 0x9e3779b97f4a7c15 * (seed + 1))) {}

uint64_t RandomStream::bits(uint64_t index) const {
  return mix(key + (index + 1) * 0x9e3779b97f4a7c15);
}

/// ln(x) for positive normal x, to about 1e-9: ln(2^e m) = e ln 2 + 2 atanh((m - 1) / (m + 1)).
static double logOf(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  // Without a branch: the mantissa is cut at sqrt(1/2), so that m lies between that and sqrt(2).
  constexpr uint64_t half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
  bits += one - half;
  int exponent = int(bits >> 52) - 1023;
  bits = (bits & 0xfffffffffffff) + half;
  double m;
  memcpy(&m, &bits, sizeof m);
  double t = (m - 1) / (m + 1), s = t * t; // |t| < 0.1716
  constexpr double c3 = 1.0 / 3, c5 = 1.0 / 5, c7 = 1.0 / 7, c9 = 1.0 / 9, c11 = 1.0 / 11;
  double series = 1 + s * (c3 + s * (c5 + s * (c7 + s * (c9 + s * c11))));
  return exponent * 0.6931471805599453 + 2 * t * series;
}

/// sin and cos of a / 2^32 turns: the Taylor series on the nearest quarter turn.
static void sinCos(uint32_t a, double &sine, double &cosine) {
  uint32_t quarter = (a + 0x20000000u) >> 30;
  double x = double(int32_t(a - (quarter << 30))) * (6.283185307179586 / 4294967296.0), s = x * x;
  constexpr double s3 = -1.0 / 6, s5 = 1.0 / 120, s7 = -1.0 / 5040, s9 = 1.0 / 362880;
  constexpr double c2 = -1.0 / 2, c4 = 1.0 / 24, c6 = -1.0 / 720, c8 = 1.0 / 40320;
  constexpr double s11 = -1.0 / 39916800, c10 = -1.0 / 3628800;
  double sn = x * (1 + s * (s3 + s * (s5 + s * (s7 + s * (s9 + s * s11)))));
  double cs = 1 + s * (c2 + s * (c4 + s * (c6 + s * (c8 + s * c10))));
  // By tables: branches would be mispredicted every other time.
  const double values[2] = {sn, cs};
  static const double signs[2] = {1, -1};
  sine = values[quarter & 1] * signs[quarter >> 1 & 1];
  cosine = values[~quarter & 1] * signs[(quarter + 1) >> 1 & 1];
}

void RandomStream::normal(int64_t begin, int64_t count, float mean, float scale,
                          float *values) const {
  for (int64_t i = 0; i < count; i += 2) {
    uint64_t random = bits(uint64_t(begin + i) / 2);
    double uniform = (double(uint32_t(random >> 32)) + 0.5) / 4294967296.0; // never 0
    double radius = sqrt(-2 * logOf(uniform)), sine, cosine;
    sinCos(uint32_t(random), sine, cosine);
    values[i] = float(mean + scale * (radius * cosine));
    if (i + 1 < count)
      values[i + 1] = float(mean + scale * (radius * sine));
  }
}
