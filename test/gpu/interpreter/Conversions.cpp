// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cvt (ISA 9.7.9.21): between integers, floats and halves, and two floats packed into halves.
#include "test/gpu/interpreter/Instructions.h"
#include <cmath>

namespace attn::ptx {
namespace {

enum class Rounding { Nearest, Zero, Down, Up };

struct Conversion {
  Type to;
  Type from;
  bool toWhole;
  Rounding rounding;
  bool flush;
  bool saturate;
  bool relu;
};

bool isNarrow(Type type) { return type == Type::F16 || type == Type::BF16; }

double readNumber(const Conversion &conversion, uint64_t bits) {
  switch (conversion.from) {
  case Type::F16:
    return widen(uint16_t(bits), f16Format);
  case Type::BF16:
    return widen(uint16_t(bits), bf16Format);
  case Type::F32:
    return conversion.flush ? flushDenormal(floatOf(bits)) : floatOf(bits);
  default:
    return doubleOf(bits);
  }
}

/// An integer's value, its sign extended.
__int128 readInteger(Type type, uint64_t bits) {
  int shift = 64 - bitsOf(type);
  return isSigned(type) ? __int128(int64_t(bits << shift) >> shift)
                        : __int128((bits << shift) >> shift);
}

__int128 lowest(Type type) { return isSigned(type) ? -(__int128(1) << (bitsOf(type) - 1)) : 0; }
__int128 highest(Type type) { return (__int128(1) << (bitsOf(type) - int(isSigned(type)))) - 1; }

double wholeNumber(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Nearest:
    return std::nearbyint(value);
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  }
  return value;
}

/// Out of range numbers become the nearest; NaN becomes 0, or 2^(n-1) as the manual has it for f64
/// and for results of 64 bits.
uint64_t toInteger(const Conversion &conversion, double value) {
  int bits = bitsOf(conversion.to);
  if (std::isnan(value))
    return conversion.from == Type::F64 || bits == 64 ? 1ull << (bits - 1) : 0;
  value = wholeNumber(value, conversion.rounding);
  if (value <= double(lowest(conversion.to)))
    return uint64_t(lowest(conversion.to)) & (~0ull >> (64 - bits));
  if (value >= double(highest(conversion.to)))
    return uint64_t(highest(conversion.to)) & (~0ull >> (64 - bits));
  return uint64_t(__int128(value)) & (~0ull >> (64 - bits));
}

/// A double towards zero to float.
float truncateToFloat(double value) {
  float nearest = float(value);
  return std::fabs(double(nearest)) > std::fabs(value) ? std::nextafter(nearest, 0.0f) : nearest;
}

uint64_t toNumber(const Conversion &conversion, double value) {
  if (conversion.toWhole)
    value = wholeNumber(value, conversion.rounding);
  if (conversion.relu && !(value > 0))
    value = std::isnan(value) ? value : 0;
  if (conversion.saturate)
    value = value > 0 ? std::fmin(value, 1.0) : 0;
  bool truncates = !conversion.toWhole && conversion.rounding == Rounding::Zero;
  if (isNarrow(conversion.to))
    return narrow(value, conversion.to == Type::F16 ? f16Format : bf16Format, truncates);
  if (conversion.to == Type::F64)
    return bitsOf(value);
  if (std::isnan(value))
    return 0x7fffffff;
  float result = truncates ? truncateToFloat(value) : float(value);
  return bitsOf(conversion.flush ? flushDenormal(result) : result);
}

uint64_t convert(const Conversion &conversion, uint64_t bits) {
  if (isFloat(conversion.from)) {
    double value = readNumber(conversion, bits);
    return isFloat(conversion.to) ? toNumber(conversion, value) : toInteger(conversion, value);
  }
  __int128 value = readInteger(conversion.from, bits);
  if (!isFloat(conversion.to)) {
    if (conversion.saturate && value < lowest(conversion.to))
      value = lowest(conversion.to);
    if (conversion.saturate && value > highest(conversion.to))
      value = highest(conversion.to);
    return uint64_t(value) & (~0ull >> (64 - bitsOf(conversion.to)));
  }
  // To float at once: by way of double it would be rounded twice.
  if (conversion.to == Type::F32 && conversion.rounding == Rounding::Nearest)
    return bitsOf(isSigned(conversion.from) ? float(int64_t(value)) : float(uint64_t(value)));
  return toNumber(conversion, double(value));
}

Action packed(Conversion conversion) {
  conversion.to = conversion.to == Type::F16x2 ? Type::F16 : Type::BF16;
  return lanewise2([conversion](uint64_t a, uint64_t b) {
    return convert(conversion, a) << 16 | convert(conversion, b);
  });
}

} // namespace

Action decodeCvt(Decoding &decoding) {
  int whole = decoding.takeOneOf({"rni", "rzi", "rmi", "rpi"});
  int rounding = decoding.takeOneOf({"rn", "rz"});
  bool awayFromZero = decoding.take("rna");
  Conversion conversion{};
  conversion.flush = decoding.take("ftz");
  conversion.saturate = decoding.take("sat");
  conversion.relu = decoding.take("relu");
  conversion.toWhole = whole >= 0;
  conversion.rounding = Rounding(whole >= 0 ? whole : rounding >= 0 ? rounding : 0);
  conversion.to = decoding.takeType();
  conversion.from = decoding.takeType();
  bool two = conversion.to == Type::F16x2 || conversion.to == Type::BF16x2;
  decoding.expectOperands(two ? 3 : 2);
  if (conversion.to == Type::TF32) {
    if (!awayFromZero || conversion.from != Type::F32)
      decoding.fail("expected .rna.tf32.f32");
    return lanewise1([](uint64_t a) { return uint64_t(roundToTf32(uint32_t(a))); });
  }
  if (awayFromZero || conversion.from == Type::TF32 ||
      (two && (conversion.from != Type::F32 || rounding < 0)))
    decoding.fail("is not a conversion of the manual");
  bool loses = isFloat(conversion.to) && isFloat(conversion.from) &&
               bitsOf(conversion.to) < bitsOf(conversion.from);
  if ((loses && rounding < 0 && whole < 0) ||
      (isFloat(conversion.from) && !isFloat(conversion.to) && whole < 0))
    decoding.fail("expected a rounding");
  if (two)
    return packed(conversion);
  return lanewise1([conversion](uint64_t a) { return convert(conversion, a); });
}

} // namespace attn::ptx
