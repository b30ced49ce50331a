// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/Numbers.h"
#include <cmath>
#include <limits>

namespace attn::ptx {

double widen(uint16_t bits, NarrowFormat format) {
  int fraction = bits & ((1 << format.fraction) - 1);
  int exponent = (bits >> format.fraction) & ((1 << format.exponent) - 1);
  int bias = (1 << (format.exponent - 1)) - 1;
  if (exponent != 0 && exponent != (1 << format.exponent) - 1)
    return doubleOf(uint64_t(bits >> 15) << 63 | uint64_t(exponent - bias + 1023) << 52 |
                    uint64_t(fraction) << (52 - format.fraction));
  double magnitude = 0;
  if (exponent)
    magnitude = fraction ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else
    magnitude = std::ldexp(fraction, 1 - bias - format.fraction);
  return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t narrow(double value, NarrowFormat format, bool towardsZero) {
  if (std::isnan(value))
    return 0x7fff;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  int bias = (1 << (format.exponent - 1)) - 1;
  uint16_t infinity = ((1 << format.exponent) - 1) << format.fraction;
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return sign | infinity;
  // One unit in the last place, which no denormal goes below.
  int exponent = magnitude == 0 ? 1 - bias : std::ilogb(magnitude);
  exponent = exponent < 1 - bias ? 1 - bias : exponent;
  double units = std::ldexp(magnitude, format.fraction - exponent);
  auto whole = int64_t(towardsZero ? std::trunc(units) : std::nearbyint(units));
  // A carry out of the fraction runs into the exponent, as it should.
  int64_t bits = (int64_t(exponent + bias - 1) << format.fraction) + whole;
  if (bits >= infinity)
    bits = towardsZero ? infinity - 1 : infinity;
  return sign | uint16_t(bits);
}

uint32_t roundToTf32(uint32_t bits) {
  if ((bits & 0x7f800000) == 0x7f800000)
    return bits & 0x007fffff ? 0x7fffffff : bits;
  return (bits + 0x1000) & ~0x1fffu;
}

float flushDenormal(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

} // namespace attn::ptx
