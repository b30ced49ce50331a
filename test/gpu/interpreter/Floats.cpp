// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating-point arithmetic (ISA 9.7.3, 9.7.4): f32 and f64 exactly as IEEE 754 has them, halves
// computed in double and rounded once. The `.approx` functions are correctly rounded here, which a
// GPU's are not: tests of kernels leave room for the manual's error bounds.
#include "test/gpu/interpreter/Instructions.h"
#include <cmath>

namespace attn::ptx {
namespace {

/// How numbers of a type are read and written.
struct Format {
  Type type;
  bool flush;
  bool saturate;

  bool packed() const { return type == Type::F16x2 || type == Type::BF16x2; }
  NarrowFormat narrowFormat() const {
    return type == Type::F16 || type == Type::F16x2 ? f16Format : bf16Format;
  }
};

uint64_t finish(const Format &format, float value) {
  if (format.saturate)
    value = value > 0 ? std::fmin(value, 1.0f) : 0.0f;
  if (std::isnan(value))
    return 0x7fffffff;
  return bitsOf(format.flush ? flushDenormal(value) : value);
}

/// op on numbers of the format, given and returned as bits. `op` takes floats or doubles.
template <typename Op, typename... Bits>
uint64_t compute(const Format &format, Op op, Bits... bits) {
  if (format.type == Type::F64)
    return bitsOf(double(op(doubleOf(bits)...)));
  if (format.type == Type::F32) {
    auto read = [&](uint64_t from) {
      return format.flush ? flushDenormal(floatOf(from)) : floatOf(from);
    };
    return finish(format, float(op(read(bits)...)));
  }
  NarrowFormat narrowed = format.narrowFormat();
  auto half = [&](int shift) -> uint64_t {
    double value = op(widen(uint16_t(bits >> shift), narrowed)...);
    if (format.saturate)
      value = value > 0 ? std::fmin(value, 1.0) : 0.0;
    return narrow(value, narrowed);
  };
  return format.packed() ? half(16) << 16 | half(0) : half(0);
}

/// `{.rn}{.ftz}{.sat}.type`; the other roundings are left over, and so refused.
Format takeFormat(Decoding &decoding) {
  decoding.ignore({"rn"});
  Format format{decoding.takeType(), decoding.take("ftz"), decoding.take("sat")};
  if (!isFloat(format.type) || format.type == Type::TF32)
    decoding.fail("expected a floating-point type");
  return format;
}

template <typename Op> Action floatUnary(Decoding &decoding, Op op) {
  decoding.expectOperands(2);
  Format format = takeFormat(decoding);
  return lanewise1([format, op](uint64_t a) { return compute(format, op, a); });
}

template <typename Op> Action floatBinary(Decoding &decoding, Op op) {
  decoding.expectOperands(3);
  Format format = takeFormat(decoding);
  return lanewise2([format, op](uint64_t a, uint64_t b) { return compute(format, op, a, b); });
}

/// Sign bits are changed without regard to what the number is.
template <typename Op> Action signOperation(Decoding &decoding, Op op) {
  decoding.expectOperands(2);
  Format format = takeFormat(decoding);
  int bits = bitsOf(format.type);
  uint64_t signs = format.packed() ? 0x80008000 : 1ull << (bits - 1);
  return lanewise1([format, signs, op](uint64_t a) {
    uint64_t result = op(a, signs);
    return format.flush && format.type == Type::F32 ? bitsOf(flushDenormal(floatOf(result)))
                                                    : result;
  });
}

/// The lesser; NaN only where both are, or one is with .NaN; -0 is less than +0.
template <typename T> T lesser(T a, T b, bool propagate) {
  if (std::isnan(a) || std::isnan(b))
    return propagate ? NAN : std::isnan(a) ? b : a;
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

/// Computes in double; the result is rounded once to the type.
template <typename Op> Action approximate(Decoding &decoding, Op op) {
  decoding.ignore({"approx"});
  return floatUnary(decoding, [op](auto a) { return op(double(a)); });
}

} // namespace

Action decodeFloatAdd(Decoding &decoding) {
  return floatBinary(decoding, [](auto a, auto b) { return a + b; });
}
Action decodeFloatSub(Decoding &decoding) {
  return floatBinary(decoding, [](auto a, auto b) { return a - b; });
}
Action decodeFloatMul(Decoding &decoding) {
  return floatBinary(decoding, [](auto a, auto b) { return a * b; });
}
Action decodeFloatDiv(Decoding &decoding) {
  decoding.ignore({"approx", "full"});
  return floatBinary(decoding, [](auto a, auto b) { return a / b; });
}

Action decodeFma(Decoding &decoding) {
  decoding.expectOperands(4);
  bool relu = decoding.take("relu");
  Format format = takeFormat(decoding);
  return lanewise3([format, relu](uint64_t a, uint64_t b, uint64_t c) {
    return compute(
        format,
        [relu](auto x, auto y, auto z) {
          auto value = std::fma(x, y, z);
          return relu && value < 0 ? decltype(value)(0) : value;
        },
        a, b, c);
  });
}

Action decodeFloatAbs(Decoding &decoding) {
  return signOperation(decoding, [](uint64_t a, uint64_t signs) { return a & ~signs; });
}
Action decodeFloatNeg(Decoding &decoding) {
  return signOperation(decoding, [](uint64_t a, uint64_t signs) { return a ^ signs; });
}

Action decodeFloatMin(Decoding &decoding) {
  bool propagate = decoding.take("NaN");
  return floatBinary(decoding, [=](auto a, auto b) { return lesser(a, b, propagate); });
}
Action decodeFloatMax(Decoding &decoding) {
  bool propagate = decoding.take("NaN");
  return floatBinary(decoding, [=](auto a, auto b) { return -lesser(-a, -b, propagate); });
}

/// The sign of a, the magnitude of b.
Action decodeCopysign(Decoding &decoding) {
  return floatBinary(decoding, [](auto a, auto b) { return std::copysign(b, a); });
}

Action decodeRcp(Decoding &decoding) {
  return approximate(decoding, [](double a) { return 1 / a; });
}
Action decodeSqrt(Decoding &decoding) {
  return approximate(decoding, [](double a) { return std::sqrt(a); });
}
Action decodeRsqrt(Decoding &decoding) {
  return approximate(decoding, [](double a) { return 1 / std::sqrt(a); });
}
Action decodeEx2(Decoding &decoding) {
  return approximate(decoding, [](double a) { return std::exp2(a); });
}
Action decodeLg2(Decoding &decoding) {
  return approximate(decoding, [](double a) { return std::log2(a); });
}
Action decodeSin(Decoding &decoding) {
  return approximate(decoding, [](double a) { return std::sin(a); });
}
Action decodeCos(Decoding &decoding) {
  return approximate(decoding, [](double a) { return std::cos(a); });
}
Action decodeTanh(Decoding &decoding) {
  return approximate(decoding, [](double a) { return std::tanh(a); });
}

} // namespace attn::ptx
