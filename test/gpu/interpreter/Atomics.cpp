// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// atom and red (ISA 9.7.13.5, 9.7.13.6). Lanes go one after the other, in the order of their
// numbers. Sums of floats are rounded once each.
#include "test/gpu/interpreter/Instructions.h"
#include <algorithm>
#include <cmath>

namespace attn::ptx {
namespace {

enum class Update { Add, Min, Max, Exchange, CompareSwap, And, Or, Xor, Increment, Decrement };

uint64_t addFloats(Type type, uint64_t a, uint64_t b) {
  auto half = [&](int shift, NarrowFormat format) -> uint64_t {
    return narrow(widen(uint16_t(a >> shift), format) + widen(uint16_t(b >> shift), format),
                  format);
  };
  switch (type) {
  case Type::F32:
    return bitsOf(floatOf(a) + floatOf(b));
  case Type::F64:
    return bitsOf(doubleOf(a) + doubleOf(b));
  case Type::F16:
    return half(0, f16Format);
  case Type::BF16:
    return half(0, bf16Format);
  case Type::F16x2:
    return half(16, f16Format) << 16 | half(0, f16Format);
  default:
    return half(16, bf16Format) << 16 | half(0, bf16Format);
  }
}

uint64_t updated(Update update, Type type, uint64_t old, uint64_t b, uint64_t c) {
  int shift = 64 - bitsOf(type);
  auto signedLess = [&](uint64_t x, uint64_t y) {
    return isSigned(type) ? int64_t(x << shift) < int64_t(y << shift) : x << shift < y << shift;
  };
  switch (update) {
  case Update::Add:
    return isFloat(type) ? addFloats(type, old, b) : old + b;
  case Update::Min:
    return signedLess(b, old) ? b : old;
  case Update::Max:
    return signedLess(old, b) ? b : old;
  case Update::Exchange:
    return b;
  case Update::CompareSwap:
    return old << shift == b << shift ? c : old;
  case Update::And:
    return old & b;
  case Update::Or:
    return old | b;
  case Update::Xor:
    return old ^ b;
  case Update::Increment:
    return uint32_t(old) >= uint32_t(b) ? 0 : old + 1;
  case Update::Decrement:
    return uint32_t(old) == 0 || uint32_t(old) > uint32_t(b) ? b : old - 1;
  }
  return old;
}

/// `first` is the place of the address among the operands; atom's is behind the result.
Action decodeUpdate(Decoding &decoding, size_t first) {
  decoding.ignore({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys",
                   "noftz", "L2::cache_hint"});
  Space space = decoding.takeSpace();
  int found =
      decoding.takeOneOf({"add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec"});
  auto update = Update(found);
  Type type = decoding.takeType();
  bool swap = update == Update::CompareSwap;
  decoding.expectOperands(first + 2 + swap);
  if (found < 0 || (isFloat(type) && update != Update::Add))
    decoding.fail("expected an operation of the manual");
  return [=](Step &step) {
    step.each([&](int lane) {
      uint32_t bytes = bitsOf(type) / 8;
      uint64_t b = step.read(step.operand(first + 1), lane);
      uint64_t c = swap ? step.read(step.operand(first + 2), lane) : 0;
      uint8_t *data =
          step.locate(lane, space, step.address(step.operand(first), lane), bytes, false, true);
      data = data ? step.locate(lane, space, step.address(step.operand(first), lane), bytes, true,
                                true)
                  : data;
      if (!data)
        return;
      uint64_t old = 0;
      std::memcpy(&old, data, bytes);
      uint64_t value = updated(update, type, old, b, c);
      std::memcpy(data, &value, bytes);
      if (first)
        step.write(step.operand(0), lane, old);
    });
  };
}

} // namespace

Action decodeAtom(Decoding &decoding) { return decodeUpdate(decoding, 1); }

Action decodeRed(Decoding &decoding) { return decodeUpdate(decoding, 0); }

} // namespace attn::ptx
