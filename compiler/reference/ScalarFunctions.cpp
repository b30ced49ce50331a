// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the scalar ops of arith and math compute, on doubles. Floats do not round to their type.
// Indices do not wrap: positions and sizes stay far below 2^53, up to which a double holds every
// integer. Integers of 32 bits wrap; of 64, those are exact that a double holds.
#include "compiler/reference/Region.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace attn::reference;

#define BINARY(expression) [](double a, double b, double) -> double { return expression; }
#define UNARY(expression) [](double a, double, double) -> double { return expression; }

/// The bits of a (signed) integer that a double holds.
static int64_t asInt(double value) { return static_cast<int64_t>(value); }

/// Comparisons of floats; the ordered ones are false for a NaN, the unordered ones true.
static ScalarFunction compareFloats(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return BINARY(0);
  case P::OEQ:
    return BINARY(a == b);
  case P::OGT:
    return BINARY(a > b);
  case P::OGE:
    return BINARY(a >= b);
  case P::OLT:
    return BINARY(a < b);
  case P::OLE:
    return BINARY(a <= b);
  case P::ONE:
    return BINARY(a < b || a > b);
  case P::ORD:
    return BINARY(a == a && b == b);
  case P::UEQ:
    return BINARY(!(a < b || a > b));
  case P::UGT:
    return BINARY(!(a <= b));
  case P::UGE:
    return BINARY(!(a < b));
  case P::ULT:
    return BINARY(!(a >= b));
  case P::ULE:
    return BINARY(!(a > b));
  case P::UNE:
    return BINARY(a != b);
  case P::UNO:
    return BINARY(a != a || b != b);
  case P::AlwaysTrue:
    return BINARY(1);
  }
  return nullptr;
}

/// Comparisons of integers.
static ScalarFunction compareInts(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return BINARY(a == b);
  case P::ne:
    return BINARY(a != b);
  case P::slt:
    return BINARY(a < b);
  case P::sle:
    return BINARY(a <= b);
  case P::sgt:
    return BINARY(a > b);
  case P::sge:
    return BINARY(a >= b);
  case P::ult:
    return BINARY(uint64_t(asInt(a)) < uint64_t(asInt(b)));
  case P::ule:
    return BINARY(uint64_t(asInt(a)) <= uint64_t(asInt(b)));
  case P::ugt:
    return BINARY(uint64_t(asInt(a)) > uint64_t(asInt(b)));
  case P::uge:
    return BINARY(uint64_t(asInt(a)) >= uint64_t(asInt(b)));
  }
  return nullptr;
}

/// arith's ops on floats, but for comparisons.
static ScalarFunction floatFunction(StringRef name) {
  return llvm::StringSwitch<ScalarFunction>(name)
      .Case("arith.addf", BINARY(a + b))
      .Case("arith.subf", BINARY(a - b))
      .Case("arith.mulf", BINARY(a * b))
      .Case("arith.divf", BINARY(a / b))
      .Case("arith.remf", BINARY(std::fmod(a, b)))
      .Case("arith.negf", UNARY(-a))
      .Case("arith.maximumf", BINARY(a != a || b != b ? a + b : std::fmax(a, b)))
      .Case("arith.minimumf", BINARY(a != a || b != b ? a + b : std::fmin(a, b)))
      .Case("arith.maxnumf", BINARY(std::fmax(a, b)))
      .Case("arith.minnumf", BINARY(std::fmin(a, b)))
      .Cases({"arith.extf", "arith.truncf", "arith.sitofp"}, UNARY(a))
      .Case("arith.fptosi", UNARY(std::trunc(a)))
      .Case("arith.select",
            [](double condition, double a, double b) { return condition != 0 ? a : b; })
      .Default(nullptr);
}

/// arith's ops on integers and indices, but for comparisons.
static ScalarFunction intFunction(StringRef name) {
  return llvm::StringSwitch<ScalarFunction>(name)
      .Case("arith.addi", BINARY(a + b))
      .Case("arith.subi", BINARY(a - b))
      .Case("arith.muli", BINARY(a * b))
      .Cases({"arith.divsi", "arith.divui"}, BINARY(std::trunc(a / b)))
      .Case("arith.floordivsi", BINARY(std::floor(a / b)))
      .Case("arith.ceildivsi", BINARY(std::ceil(a / b)))
      .Cases({"arith.remsi", "arith.remui"}, BINARY(std::fmod(a, b)))
      .Cases({"arith.maxsi", "arith.maxui"}, BINARY(std::fmax(a, b)))
      .Cases({"arith.minsi", "arith.minui"}, BINARY(std::fmin(a, b)))
      .Case("arith.andi", BINARY(asInt(a) & asInt(b)))
      .Case("arith.ori", BINARY(asInt(a) | asInt(b)))
      .Case("arith.xori", BINARY(asInt(a) ^ asInt(b)))
      .Case("arith.shrsi", BINARY(std::floor(std::ldexp(a, -int(b)))))
      .Cases({"arith.extsi", "arith.extui", "arith.index_cast", "arith.uitofp"}, UNARY(a))
      .Default(nullptr);
}

/// The low 32 bits of an integer, as a signed one.
static double wrapped(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }

/// arith's ops on integers of 32 bits that may exceed them; a product of two has 64 bits.
static ScalarFunction wrappingFunction(StringRef name) {
  return llvm::StringSwitch<ScalarFunction>(name)
      .Case("arith.addi", BINARY(wrapped(asInt(a) + asInt(b))))
      .Case("arith.subi", BINARY(wrapped(asInt(a) - asInt(b))))
      .Case("arith.muli", BINARY(wrapped(asInt(a) * asInt(b))))
      .Default(nullptr);
}

/// The ops of the math dialect.
static ScalarFunction mathFunction(StringRef name) {
  return llvm::StringSwitch<ScalarFunction>(name)
      .Cases({"math.absf", "math.absi"}, UNARY(std::fabs(a)))
      .Case("math.ceil", UNARY(std::ceil(a)))
      .Case("math.cos", UNARY(std::cos(a)))
      .Case("math.erf", UNARY(std::erf(a)))
      .Case("math.exp", UNARY(std::exp(a)))
      .Case("math.exp2", UNARY(std::exp2(a)))
      .Case("math.floor", UNARY(std::floor(a)))
      .Case("math.fma", [](double a, double b, double c) { return std::fma(a, b, c); })
      .Case("math.log", UNARY(std::log(a)))
      .Case("math.log1p", UNARY(std::log1p(a)))
      .Case("math.log2", UNARY(std::log2(a)))
      .Case("math.powf", BINARY(std::pow(a, b)))
      .Case("math.rsqrt", UNARY(1 / std::sqrt(a)))
      .Case("math.sin", UNARY(std::sin(a)))
      .Case("math.sqrt", UNARY(std::sqrt(a)))
      .Case("math.tanh", UNARY(std::tanh(a)))
      .Default(nullptr);
}

ScalarFunction attn::reference::scalarFunction(Operation *op) {
  // On vectors, element by element.
  if (op->getNumResults() != 1 || op->getNumOperands() > 3 ||
      !getElementTypeOrSelf(op->getResult(0).getType()).isIntOrIndexOrFloat())
    return nullptr;
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compareFloats(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareInts(compare.getPredicate());
  StringRef name = op->getName().getStringRef();
  if (op->getResult(0).getType().isInteger(32))
    if (ScalarFunction function = wrappingFunction(name))
      return function;
  for (auto table : {floatFunction, intFunction, mathFunction})
    if (ScalarFunction function = table(name))
      return function;
  return nullptr;
}

double attn::reference::constantValue(arith::ConstantOp op) {
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return number.getValueAsDouble();
  auto number = cast<IntegerAttr>(op.getValue());
  bool isBoolean = number.getType().isInteger(1); // i1's 1 would read as -1
  return isBoolean ? !number.getValue().isZero() : number.getValue().getSExtValue();
}
