// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic (ISA 9.7.1). Names that integers share with floats go to Floats.cpp by type.
#include "test/gpu/interpreter/Instructions.h"
#include <algorithm>
#include <limits>

namespace attn::ptx {

/// Computes in 128 bits, wide enough for every intermediate result.
template <typename T>
using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;

template <typename Op> static Action integerBinary(Decoding &decoding, Op op) {
  decoding.expectOperands(3);
  return withInteger(decoding, decoding.takeType(), [op](auto zero) {
    using T = decltype(zero);
    return lanewise2([op](uint64_t a, uint64_t b) { return toBits(T(op(T(a), T(b)))); });
  });
}

template <typename Op> static Action integerUnary(Decoding &decoding, Op op) {
  decoding.expectOperands(2);
  return withInteger(decoding, decoding.takeType(), [op](auto zero) {
    using T = decltype(zero);
    return lanewise1([op](uint64_t a) { return toBits(T(op(T(a)))); });
  });
}

Action decodeAdd(Decoding &decoding) {
  if (isFloat(decoding.lastType()))
    return decodeFloatAdd(decoding);
  if (decoding.take("sat")) {
    return integerBinary(decoding, [](auto a, auto b) {
      using T = decltype(a);
      return std::clamp<Wide<T>>(Wide<T>(a) + b, std::numeric_limits<T>::min(),
                                 std::numeric_limits<T>::max());
    });
  }
  return integerBinary(decoding, [](auto a, auto b) { return uint64_t(a) + uint64_t(b); });
}

Action decodeSub(Decoding &decoding) {
  if (isFloat(decoding.lastType()))
    return decodeFloatSub(decoding);
  return integerBinary(decoding, [](auto a, auto b) { return uint64_t(a) - uint64_t(b); });
}

enum class Half { Low, High, Wide };

static Half takeHalf(Decoding &decoding) {
  int half = decoding.takeOneOf({"lo", "hi", "wide"});
  if (half < 0)
    decoding.fail("expected .lo, .hi or .wide");
  return Half(half);
}

/// a * b + c, of which the low half, the high half or all is kept.
template <typename T> static uint64_t multiplyAdd(Half half, uint64_t a, uint64_t b, uint64_t c) {
  Wide<T> product = Wide<T>(T(a)) * Wide<T>(T(b));
  if (half == Half::Wide)
    return uint64_t(product) + c;
  if (half == Half::High)
    product >>= 8 * sizeof(T);
  return toBits(T(uint64_t(product) + c));
}

/// A wide result of 16-bit factors has 32 bits.
template <typename T> static uint64_t fitWide(Half half, uint64_t value) {
  return half == Half::Wide && sizeof(T) == 2 ? uint32_t(value) : value;
}

Action decodeMul(Decoding &decoding) {
  if (isFloat(decoding.lastType()))
    return decodeFloatMul(decoding);
  Half half = takeHalf(decoding);
  decoding.expectOperands(3);
  return withInteger(decoding, decoding.takeType(), [half](auto zero) {
    using T = decltype(zero);
    return lanewise2(
        [half](uint64_t a, uint64_t b) { return fitWide<T>(half, multiplyAdd<T>(half, a, b, 0)); });
  });
}

Action decodeMad(Decoding &decoding) {
  if (isFloat(decoding.lastType()))
    return decodeFma(decoding);
  Half half = takeHalf(decoding);
  decoding.expectOperands(4);
  return withInteger(decoding, decoding.takeType(), [half](auto zero) {
    using T = decltype(zero);
    return lanewise3([half](uint64_t a, uint64_t b, uint64_t c) {
      return fitWide<T>(half, multiplyAdd<T>(half, a, b, c));
    });
  });
}

/// Division by zero gives all ones, as GPUs do where the manual leaves it open.
Action decodeDiv(Decoding &decoding) {
  if (isFloat(decoding.lastType()))
    return decodeFloatDiv(decoding);
  return integerBinary(decoding, [](auto a, auto b) {
    using T = decltype(a);
    return b == 0 ? T(-1) : T(Wide<T>(a) / b);
  });
}

Action decodeRem(Decoding &decoding) {
  return integerBinary(decoding, [](auto a, auto b) {
    using T = decltype(a);
    return b == 0 ? a : T(Wide<T>(a) % b);
  });
}

Action decodeAbs(Decoding &decoding) {
  if (isFloat(decoding.lastType()))
    return decodeFloatAbs(decoding);
  return integerUnary(decoding, [](auto a) { return a < 0 ? -uint64_t(a) : uint64_t(a); });
}

Action decodeNeg(Decoding &decoding) {
  if (isFloat(decoding.lastType()))
    return decodeFloatNeg(decoding);
  return integerUnary(decoding, [](auto a) { return -uint64_t(a); });
}

Action decodeMin(Decoding &decoding) {
  if (isFloat(decoding.lastType()))
    return decodeFloatMin(decoding);
  return integerBinary(decoding, [](auto a, auto b) { return std::min(a, b); });
}

Action decodeMax(Decoding &decoding) {
  if (isFloat(decoding.lastType()))
    return decodeFloatMax(decoding);
  return integerBinary(decoding, [](auto a, auto b) { return std::max(a, b); });
}

/// One operand of 32 or 64 bits, a result of 32.
template <typename Op> static Action bitQuery(Decoding &decoding, Op op) {
  decoding.expectOperands(2);
  int bits = bitsOf(decoding.takeType());
  if (bits != 32 && bits != 64)
    decoding.fail("expected 32 or 64 bits");
  return lanewise1(
      [op, bits](uint64_t a) { return op(bits == 32 ? uint64_t(uint32_t(a)) : a, bits); });
}

Action decodePopc(Decoding &decoding) {
  return bitQuery(decoding, [](uint64_t a, int) { return uint64_t(__builtin_popcountll(a)); });
}

Action decodeClz(Decoding &decoding) {
  return bitQuery(decoding, [](uint64_t a, int bits) {
    return a ? uint64_t(__builtin_clzll(a) - (64 - bits)) : uint64_t(bits);
  });
}

Action decodeBrev(Decoding &decoding) {
  return bitQuery(decoding, [](uint64_t a, int bits) {
    uint64_t reversed = 0;
    for (int i = 0; i < bits; ++i)
      reversed |= (a >> i & 1) << (bits - 1 - i);
    return reversed;
  });
}

/// The highest bit that is set, or for negative numbers, clear; all ones where there is none.
Action decodeBfind(Decoding &decoding) {
  bool shift = decoding.take("shiftamt");
  bool isNegatable = isSigned(decoding.lastType());
  return bitQuery(decoding, [shift, isNegatable](uint64_t a, int bits) {
    if (isNegatable && a >> (bits - 1) & 1)
      a = ~a & (~0ull >> (64 - bits));
    if (!a)
      return uint64_t(0xffffffff);
    uint64_t place = 63 - __builtin_clzll(a);
    return shift ? bits - 1 - place : place;
  });
}

Action decodeBfe(Decoding &decoding) {
  decoding.expectOperands(4);
  return withInteger(decoding, decoding.takeType(), [](auto zero) {
    using T = decltype(zero);
    constexpr int width = 8 * sizeof(T);
    return lanewise3([](uint64_t a, uint64_t b, uint64_t c) {
      int begin = b & 0xff;
      int length = c & 0xff;
      auto bit = [&](int i) { return T(a) >> std::min(i, width - 1) & 1; };
      bool sign = std::is_signed_v<T> && length && bit(begin + length - 1);
      uint64_t field = 0;
      for (int i = 0; i < width; ++i) {
        bool within = i < length && begin + i < width;
        field |= uint64_t(within ? bit(begin + i) : T(sign)) << i;
      }
      return field;
    });
  });
}

Action decodeBfi(Decoding &decoding) {
  decoding.expectOperands(5);
  int width = bitsOf(decoding.takeType());
  return [width](Step &step) {
    step.each([&](int lane) {
      uint64_t field = step.read(step.operand(1), lane);
      uint64_t into = step.read(step.operand(2), lane);
      int begin = step.read(step.operand(3), lane) & 0xff;
      int length = step.read(step.operand(4), lane) & 0xff;
      for (int i = 0; i < length && begin + i < width; ++i) {
        uint64_t bit = 1ull << (begin + i);
        into = field >> i & 1 ? into | bit : into & ~bit;
      }
      step.write(step.operand(0), lane, width == 32 ? uint32_t(into) : into);
    });
  };
}

/// c and the products of four bytes, each of a's type and of b's; the sum wraps around.
Action decodeDp4a(Decoding &decoding) {
  decoding.expectOperands(4);
  Type a = decoding.takeType(), b = decoding.takeType();
  for (Type type : {a, b})
    if (type != Type::U32 && type != Type::S32)
      decoding.fail("expected .u32 or .s32");
  auto byte = [](Type type, uint64_t word, int i) {
    auto bits = uint8_t(word >> (8 * i));
    return type == Type::S32 ? int(int8_t(bits)) : int(bits);
  };
  return lanewise3([=](uint64_t x, uint64_t y, uint64_t sum) {
    for (int i = 0; i < 4; ++i)
      sum += uint64_t(int64_t(byte(a, x, i) * byte(b, y, i)));
    return uint64_t(uint32_t(sum));
  });
}

} // namespace attn::ptx
