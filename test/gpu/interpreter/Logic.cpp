// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparison and selection (ISA 9.7.6), logic and shifts (9.7.8), prmt (9.7.9.7).
#include "test/gpu/interpreter/Instructions.h"
#include <algorithm>
#include <cmath>

namespace attn::ptx {
namespace {

/// Bit sets of the ways two numbers can compare.
enum : uint8_t { Less = 1, Equal = 2, Greater = 4, Unordered = 8 };

template <typename T> uint8_t compareNumbers(T a, T b) {
  return a < b ? Less : a == b ? Equal : a > b ? Greater : Unordered;
}

uint8_t compareAs(Type type, bool flush, uint64_t a, uint64_t b) {
  auto flushed = [&](uint64_t bits) {
    return flush ? flushDenormal(floatOf(bits)) : floatOf(bits);
  };
  int shift = 64 - bitsOf(type);
  switch (type) {
  case Type::F32:
    return compareNumbers(flushed(a), flushed(b));
  case Type::F64:
    return compareNumbers(doubleOf(a), doubleOf(b));
  case Type::F16:
    return compareNumbers(widen(uint16_t(a), f16Format), widen(uint16_t(b), f16Format));
  case Type::BF16:
    return compareNumbers(widen(uint16_t(a), bf16Format), widen(uint16_t(b), bf16Format));
  default:
    break;
  }
  if (isSigned(type))
    return compareNumbers(int64_t(a << shift), int64_t(b << shift));
  return compareNumbers(a << shift, b << shift);
}

/// For which outcomes each comparison holds.
constexpr std::pair<const char *, int> comparisons[] = {{"eq", Equal},
                                                        {"ne", Less | Greater},
                                                        {"lt", Less},
                                                        {"le", Less | Equal},
                                                        {"gt", Greater},
                                                        {"ge", Greater | Equal},
                                                        {"lo", Less},
                                                        {"ls", Less | Equal},
                                                        {"hi", Greater},
                                                        {"hs", Greater | Equal},
                                                        {"equ", Equal | Unordered},
                                                        {"neu", Less | Greater | Unordered},
                                                        {"ltu", Less | Unordered},
                                                        {"leu", Less | Equal | Unordered},
                                                        {"gtu", Greater | Unordered},
                                                        {"geu", Greater | Equal | Unordered},
                                                        {"num", Less | Equal | Greater},
                                                        {"nan", Unordered}};

template <typename Op> Action logic2(Decoding &decoding, Op op) {
  decoding.expectOperands(3);
  int bits = bitsOf(decoding.takeType());
  uint64_t mask = bits ? ~0ull >> (64 - bits) : 0;
  return lanewise2([op, mask](uint64_t a, uint64_t b) { return op(a, b) & mask; });
}

} // namespace

Action decodeSetp(Decoding &decoding) {
  int holds = -1;
  for (const auto &[name, outcomes] : comparisons)
    if (holds < 0 && decoding.take(name))
      holds = outcomes;
  if (holds < 0)
    decoding.fail("expected a comparison");
  int combine = decoding.takeOneOf({"and", "or", "xor"});
  bool flush = decoding.take("ftz");
  Type type = decoding.takeType();
  if (type == Type::F16x2 || type == Type::BF16x2)
    decoding.fail("packed halves are not supported");
  decoding.expectOperands(combine >= 0 ? 4 : 3);
  return [=](Step &step) {
    step.each([&](int lane) {
      uint64_t a = step.read(step.operand(1), lane);
      bool result = holds & compareAs(type, flush, a, step.read(step.operand(2), lane));
      bool with = combine >= 0 && step.read(step.operand(3), lane) & 1;
      auto combined = [&](bool value) {
        return combine == 0   ? value && with
               : combine == 1 ? value || with
               : combine == 2 ? value != with
                              : value;
      };
      const Operand &destination = step.operand(0);
      step.write(destination, lane, combined(result));
      if (!destination.parts.empty())
        step.write(destination.parts[0], lane, combined(!result));
    });
  };
}

Action decodeSelp(Decoding &decoding) {
  decoding.takeType();
  decoding.expectOperands(4);
  return lanewise3([](uint64_t a, uint64_t b, uint64_t which) { return which & 1 ? a : b; });
}

Action decodeAnd(Decoding &decoding) {
  return logic2(decoding, [](uint64_t a, uint64_t b) { return a & b; });
}
Action decodeOr(Decoding &decoding) {
  return logic2(decoding, [](uint64_t a, uint64_t b) { return a | b; });
}
Action decodeXor(Decoding &decoding) {
  return logic2(decoding, [](uint64_t a, uint64_t b) { return a ^ b; });
}

Action decodeNot(Decoding &decoding) {
  decoding.expectOperands(2);
  int bits = bitsOf(decoding.takeType());
  return lanewise1([bits](uint64_t a) { return ~a & (~0ull >> (64 - bits)); });
}

/// Shifts by more than the width shift everything out.
Action decodeShl(Decoding &decoding) {
  decoding.expectOperands(3);
  int bits = bitsOf(decoding.takeType());
  return lanewise2([bits](uint64_t a, uint64_t b) {
    auto by = uint32_t(b);
    return by >= uint32_t(bits) ? 0 : a << by & (~0ull >> (64 - bits));
  });
}

Action decodeShr(Decoding &decoding) {
  decoding.expectOperands(3);
  return withInteger(decoding, decoding.takeType(), [](auto zero) {
    using T = decltype(zero);
    constexpr uint32_t bits = 8 * sizeof(T);
    return lanewise2([](uint64_t a, uint64_t b) {
      auto by = uint32_t(b);
      T most = T(a) >> (bits - 1);
      return toBits(by >= bits ? T(std::is_signed_v<T> ? most : 0) : T(T(a) >> by));
    });
  });
}

Action decodeShf(Decoding &decoding) {
  decoding.expectOperands(4);
  int left = decoding.takeOneOf({"r", "l"});
  int wrap = decoding.takeOneOf({"clamp", "wrap"});
  if (left < 0 || wrap < 0 || bitsOf(decoding.takeType()) != 32)
    decoding.fail("expected .l or .r, .clamp or .wrap, and .b32");
  return lanewise3([=](uint64_t low, uint64_t high, uint64_t amount) {
    uint32_t by = wrap ? amount & 31 : std::min<uint32_t>(uint32_t(amount), 32);
    uint64_t both = high << 32 | uint32_t(low);
    return uint64_t(uint32_t(left ? both << by >> 32 : both >> by));
  });
}

/// Bit i of the table is the result for the bits i = a * 4 + b * 2 + c.
Action decodeLop3(Decoding &decoding) {
  decoding.expectOperands(5);
  if (bitsOf(decoding.takeType()) != 32)
    decoding.fail("expected .b32");
  return [](Step &step) {
    step.each([&](int lane) {
      uint64_t a = step.read(step.operand(1), lane);
      uint64_t b = step.read(step.operand(2), lane);
      uint64_t c = step.read(step.operand(3), lane);
      uint64_t table = step.read(step.operand(4), lane);
      uint32_t result = 0;
      for (int i = 0; i < 8; ++i)
        if (table >> i & 1)
          result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
      step.write(step.operand(0), lane, result);
    });
  };
}

/// Each nibble of the selector picks a byte of b:a, or its sign.
Action decodePrmt(Decoding &decoding) {
  decoding.expectOperands(4);
  if (bitsOf(decoding.takeType()) != 32)
    decoding.fail("expected .b32");
  return lanewise3([](uint64_t a, uint64_t b, uint64_t selector) {
    uint64_t bytes = b << 32 | uint32_t(a);
    uint64_t result = 0;
    for (int i = 0; i < 4; ++i) {
      uint64_t nibble = selector >> (4 * i) & 15;
      uint64_t byte = bytes >> (8 * (nibble & 7)) & 0xff;
      result |= (nibble & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << (8 * i);
    }
    return result;
  });
}

} // namespace attn::ptx
