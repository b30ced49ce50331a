// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What operators do, as in Python.
#include "text/jinja/Interpreter.h"
#include <cmath>

using namespace attn;
using namespace attn::jinja;

/// Python's quotient of whole numbers, rounded down, with its remainder.
static bool divide(int64_t a, int64_t b, int64_t &quotient, int64_t &rest) {
  if (b == -1) {
    rest = 0;
    return !__builtin_sub_overflow(int64_t(0), a, &quotient);
  }
  quotient = a / b, rest = a % b;
  if (rest != 0 && (rest < 0) != (b < 0))
    --quotient, rest += b;
  return true;
}

/// A power of whole numbers that is one; false where it does not fit.
static bool power(int64_t base, int64_t exponent, int64_t &result) {
  result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
      return false;
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base))
      return false;
  }
  return true;
}

/// Whole numbers by an operation that gives one; false where it does not fit.
static bool operateWhole(Operation operation, int64_t a, int64_t b, int64_t &result) {
  int64_t other;
  switch (operation) {
  case Operation::Add:
    return !__builtin_add_overflow(a, b, &result);
  case Operation::Subtract:
    return !__builtin_sub_overflow(a, b, &result);
  case Operation::Multiply:
    return !__builtin_mul_overflow(a, b, &result);
  case Operation::FloorDivide:
    return divide(a, b, result, other);
  case Operation::Modulo:
    return divide(a, b, other, result);
  default:
    return power(a, b, result);
  }
}

static double operateReal(Operation operation, double a, double b) {
  switch (operation) {
  case Operation::Add:
    return a + b;
  case Operation::Subtract:
    return a - b;
  case Operation::Multiply:
    return a * b;
  case Operation::Divide:
    return a / b;
  case Operation::FloorDivide:
    return std::floor(a / b);
  case Operation::Modulo: {
    double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  default:
    return std::pow(a, b);
  }
}

static bool operateNumbers(Interpreter &run, const Node *node, const Value &a, const Value &b,
                           Value &value) {
  Operation operation = node->operation;
  bool divides = operation == Operation::Divide || operation == Operation::FloorDivide ||
                 operation == Operation::Modulo;
  if (divides && b.number() == 0)
    return run.fail(node, "division by zero");
  bool isWhole = a.isWhole() && b.isWhole() && operation != Operation::Divide &&
                 (operation != Operation::Power || b.integer() >= 0);
  if (!isWhole) {
    value = Value::of(operateReal(operation, a.number(), b.number()));
    return true;
  }
  int64_t result = 0;
  if (!operateWhole(operation, a.integer(), b.integer(), result))
    return run.fail(node, "the result is too large for a whole number");
  value = Value::of(result);
  return true;
}

/// A string or a list, `count` times.
static bool repeat(Interpreter &run, const Node *node, const Value &value, int64_t count,
                   Value &result) {
  size_t times = count > 0 ? size_t(count) : 0, all = 0;
  if (__builtin_mul_overflow(times, value.size, &all) || all > Memory::mostBytes)
    return run.fail(node, "the result is too large");
  if (!run.step(node, all))
    return false;
  if (value.is(Kind::List)) {
    auto *items = run.memory.make<Value>(all);
    for (size_t i = 0; items && i < all; ++i)
      items[i] = value.items[i % value.size];
    result = Value::list(items, all, value.isTuple);
    return items || run.noMemory(node);
  }
  auto *bytes = static_cast<char *>(run.memory.take(all + 1));
  for (size_t i = 0; bytes && i < times; ++i)
    memcpy(bytes + i * value.size, value.chars, value.size);
  result = Value::of(Slice(bytes, all));
  return bytes || run.noMemory(node);
}

static bool concatenate(Interpreter &run, const Node *node, const Value &a, const Value &b,
                        Value &value) {
  if (!run.step(node, a.size + b.size))
    return false;
  if (a.is(Kind::List)) {
    auto *items = run.memory.make<Value>(a.size + b.size);
    for (size_t i = 0; items && i < a.size + b.size; ++i)
      items[i] = i < a.size ? a.items[i] : b.items[i - a.size];
    value = Value::list(items, a.size + b.size, a.isTuple);
    return items || run.noMemory(node);
  }
  auto *bytes = static_cast<char *>(run.memory.take(a.size + b.size + 1));
  if (!bytes)
    return run.noMemory(node);
  if (a.size)
    memcpy(bytes, a.chars, a.size);
  if (b.size)
    memcpy(bytes + a.size, b.chars, b.size);
  value = Value::of(Slice(bytes, a.size + b.size));
  return true;
}

/// Whether an operand has a value; reported where it has none.
static bool isDefined(Interpreter &run, const Node *node, const Value &value) {
  return !value.is(Kind::Undefined) ||
         run.fail(node, "`%.*s` is undefined", int(value.size), value.chars ? value.chars : "");
}

bool jinja::operate(Interpreter &run, const Node *node, const Value &a, const Value &b,
                    Value &value) {
  if (!isDefined(run, node, a) || !isDefined(run, node, b))
    return false;
  if (a.isNumber() && b.isNumber())
    return operateNumbers(run, node, a, b, value);
  bool isJoinable = (a.is(Kind::String) && b.is(Kind::String)) ||
                    (a.is(Kind::List) && b.is(Kind::List) && a.isTuple == b.isTuple);
  if (node->operation == Operation::Add && isJoinable)
    return concatenate(run, node, a, b, value);
  auto isSequence = [](const Value &one) { return one.is(Kind::String) || one.is(Kind::List); };
  if (node->operation == Operation::Multiply && isSequence(a) && b.isWhole())
    return repeat(run, node, a, b.integer(), value);
  if (node->operation == Operation::Multiply && isSequence(b) && a.isWhole())
    return repeat(run, node, b, a.integer(), value);
  static const char *const signs[] = {"", "+", "-", "*", "/", "//", "%", "**"};
  return run.fail(node, "`%s` does not take %s and %s", signs[size_t(node->operation)], nameOf(a),
                  nameOf(b));
}

/// Whether one value is in another.
static bool contains(Interpreter &run, const Node *node, const Value &part, const Value &whole,
                     bool &isIn) {
  isIn = false;
  if (!run.step(node, 16 * whole.size))
    return false;
  switch (whole.kind) {
  case Kind::Undefined:
    return true;
  case Kind::String:
    if (!part.is(Kind::String))
      return run.fail(node, "`in` a string stands %s, expected a string", nameOf(part));
    isIn = part.size == 0 ||
           (whole.size > 0 && memmem(whole.chars, whole.size, part.chars, part.size));
    return true;
  case Kind::List:
    for (size_t i = 0; i < whole.size && !isIn; ++i)
      isIn = areEqual(whole.items[i], part, run.memory);
    return true;
  case Kind::Dict:
    if (!part.canBeKey())
      return run.fail(node, "%s is no key", nameOf(part));
    for (size_t i = 0; i < whole.size && !isIn; ++i)
      isIn = areEqual(whole.pairs[i].key, part, run.memory);
    return true;
  default:
    return run.fail(node, "nothing is `in` %s", nameOf(whole));
  }
}

bool jinja::holds(Interpreter &run, const Node *node, const Value &a, const Value &b,
                  bool &isTrue) {
  switch (node->operation) {
  case Operation::Equal:
  case Operation::Unequal:
    isTrue = areEqual(a, b, run.memory) == (node->operation == Operation::Equal);
    return true;
  case Operation::In:
  case Operation::NotIn:
    if (!contains(run, node, a, b, isTrue))
      return false;
    isTrue = isTrue == (node->operation == Operation::In);
    return true;
  default:
    break;
  }
  int order = 0;
  if (!isDefined(run, node, a) || !isDefined(run, node, b))
    return false;
  if (!compare(a, b, run.memory, order))
    return run.fail(node, "%s and %s have no order", nameOf(a), nameOf(b));
  bool isNan =
      (a.is(Kind::Float) && std::isnan(a.real)) || (b.is(Kind::Float) && std::isnan(b.real));
  isTrue = node->operation == Operation::Less        ? order < 0
           : node->operation == Operation::LessEqual ? order <= 0
           : node->operation == Operation::Greater   ? order > 0
                                                     : order >= 0;
  isTrue &= !isNan;
  return true;
}
