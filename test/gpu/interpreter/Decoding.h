// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an instruction's name becomes its action, once, when the module is read: a decoder takes the
// modifiers it knows; one that is left over is an error, for its meaning would be lost.
#pragma once

#include "test/gpu/interpreter/Numbers.h"
#include "test/gpu/interpreter/Step.h"
#include <initializer_list>
#include <type_traits>

namespace attn::ptx {

class Decoding {
public:
  Decoding(Instruction &instruction, const std::string &modifierText);

  Instruction &instruction;
  std::string error;

  /// Whether the modifier is there; it is taken.
  bool take(const char *modifier);
  /// Whether all are there; those that are, are taken.
  bool takeAll(std::initializer_list<const char *> known);
  /// Takes whichever are there, as they change nothing here.
  void ignore(std::initializer_list<const char *> known);
  /// Takes the first of these that is there; its place in the list, or -1.
  int takeOneOf(std::initializer_list<const char *> known);
  /// Takes the first type; an error where there is none.
  Type takeType();
  /// The last type, which stays.
  Type lastType() const;
  /// Takes `.ss` of loads, stores and atomics; generic where there is none.
  Space takeSpace();

  size_t operands() const { return instruction.operands.size(); }
  /// An error unless there are `least` to `most` operands.
  void expectOperands(size_t least, size_t most);
  void expectOperands(size_t count) { expectOperands(count, count); }
  /// An error unless operand i is a vector of `count` (of any count for 0).
  void expectVector(size_t i, size_t count);
  void fail(const std::string &message);
  /// What no one has taken.
  std::string left() const;

private:
  std::vector<std::string> modifiers;
};

using Decoder = Action (*)(Decoding &);

/// The register bits of a number.
template <typename T> uint64_t toBits(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return bitsOf(value);
  else
    return std::make_unsigned_t<T>(value);
}

template <typename T> T fromBits(uint64_t bits) {
  if constexpr (std::is_same_v<T, float>)
    return floatOf(bits);
  else if constexpr (std::is_same_v<T, double>)
    return doubleOf(bits);
  else
    return T(bits);
}

/// d = op(a, ...), lane by lane, on register bits.
template <typename Op> Action lanewise1(Op op) {
  return [op](Step &step) {
    step.each(
        [&](int lane) { step.write(step.operand(0), lane, op(step.read(step.operand(1), lane))); });
  };
}
template <typename Op> Action lanewise2(Op op) {
  return [op](Step &step) {
    step.each([&](int lane) {
      uint64_t a = step.read(step.operand(1), lane);
      step.write(step.operand(0), lane, op(a, step.read(step.operand(2), lane)));
    });
  };
}
template <typename Op> Action lanewise3(Op op) {
  return [op](Step &step) {
    step.each([&](int lane) {
      uint64_t a = step.read(step.operand(1), lane);
      uint64_t b = step.read(step.operand(2), lane);
      step.write(step.operand(0), lane, op(a, b, step.read(step.operand(3), lane)));
    });
  };
}

/// Calls `body` with a zero of the C++ integer that `type` is; bits are unsigned.
template <typename Body> Action withInteger(Decoding &decoding, Type type, Body body) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return body(uint16_t());
  case Type::B32:
  case Type::U32:
    return body(uint32_t());
  case Type::B64:
  case Type::U64:
    return body(uint64_t());
  case Type::S16:
    return body(int16_t());
  case Type::S32:
    return body(int32_t());
  case Type::S64:
    return body(int64_t());
  default:
    decoding.fail("expected an integer type of 16 to 64 bits");
    return {};
  }
}

} // namespace attn::ptx
