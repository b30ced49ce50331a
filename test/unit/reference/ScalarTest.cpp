// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scalar ops inside regions, each on three elements.
#include "TestSupport.h"
#include <cmath>
#include <limits>

using namespace attn::reference;
using namespace attn::reference::test;

/// Maps `op`, with operands %a and %b, over pairs of elements.
static Tensor mapped(std::string op, std::string element, std::vector<double> a,
                     std::vector<double> b, std::string result = "") {
  int64_t n = a.size();
  result = result.empty() ? element : result;
  auto from = type({n}, {"D"}, element), to = type({n}, {"D"}, result);
  std::string text = function({from, from}, to,
                              "attn.map(%0, %1) : (" + from + ", " + from + ") -> " + to +
                                  " { ^bb0(%a: " + element + ", %b: " + element + "): %y = " + op +
                                  " attn.yield %y : " + result + " }");
  return runOne(text, {tensor({n}, a), tensor({n}, b)});
}

static void expectUnary(std::string op, double (*function)(double)) {
  SCOPED_TRACE(op);
  std::vector<double> a = {0.25, 1, 3.5}, expected;
  for (double x : a)
    expected.push_back(function(x));
  expectNear(mapped(op + " %a : f32", "f32", a, a), tensor({3}, expected), 1e-15);
}

TEST(Scalar, functions_of_one_float) {
  expectUnary("math.exp", std::exp);
  expectUnary("math.exp2", std::exp2);
  expectUnary("math.log", std::log);
  expectUnary("math.log1p", std::log1p);
  expectUnary("math.log2", std::log2);
  expectUnary("math.sqrt", std::sqrt);
  expectUnary("math.rsqrt", [](double x) { return 1 / std::sqrt(x); });
  expectUnary("math.tanh", std::tanh);
  expectUnary("math.erf", std::erf);
  expectUnary("math.sin", std::sin);
  expectUnary("math.cos", std::cos);
  expectUnary("math.absf", std::fabs);
  expectUnary("math.floor", std::floor);
  expectUnary("math.ceil", std::ceil);
  expectUnary("arith.negf", [](double x) { return -x; });
}

static void expectBinary(std::string op, std::string element, std::vector<double> expected) {
  SCOPED_TRACE(op);
  Tensor y = mapped(op + " %a, %b : " + element, element, {7, -7, 6}, {2, 2, 6});
  expectNear(y, tensor({3}, expected), 1e-12);
}

TEST(Scalar, functions_of_two_floats) {
  expectBinary("arith.addf", "f32", {9, -5, 12});
  expectBinary("arith.subf", "f32", {5, -9, 0});
  expectBinary("arith.mulf", "f32", {14, -14, 36});
  expectBinary("arith.divf", "f32", {3.5, -3.5, 1});
  expectBinary("arith.remf", "f32", {1, -1, 0});
  expectBinary("arith.maximumf", "f32", {7, 2, 6});
  expectBinary("arith.minimumf", "f32", {2, -7, 6});
  expectBinary("arith.maxnumf", "f32", {7, 2, 6});
  expectBinary("arith.minnumf", "f32", {2, -7, 6});
  expectBinary("math.powf", "f32", {49, 49, 46656});
}

TEST(Scalar, functions_of_two_integers) {
  expectBinary("arith.addi", "i32", {9, -5, 12});
  expectBinary("arith.subi", "i32", {5, -9, 0});
  expectBinary("arith.muli", "i32", {14, -14, 36});
  expectBinary("arith.divsi", "i32", {3, -3, 1});
  expectBinary("arith.floordivsi", "i32", {3, -4, 1});
  expectBinary("arith.ceildivsi", "i32", {4, -3, 1});
  expectBinary("arith.remsi", "i32", {1, -1, 0});
  expectBinary("arith.maxsi", "i32", {7, 2, 6});
  expectBinary("arith.minsi", "i32", {2, -7, 6});
}

TEST(Scalar, booleans) {
  auto bits = [](std::string op) {
    return mapped(op + " %a, %b : i1", "i1", {0, 0, 1, 1}, {0, 1, 0, 1});
  };
  expectNear(bits("arith.andi"), tensor({4}, {0, 0, 0, 1}), 0);
  expectNear(bits("arith.ori"), tensor({4}, {0, 1, 1, 1}), 0);
  expectNear(bits("arith.xori"), tensor({4}, {0, 1, 1, 0}), 0);
}

/// Ordered comparisons are false for a NaN, unordered ones true.
TEST(Scalar, comparisons_of_floats) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  auto compare = [&](std::string predicate) {
    return mapped("arith.cmpf " + predicate + ", %a, %b : f32", "f32", {1, 2, 2, nan}, {2, 2, 1, 1},
                  "i1")
        .data;
  };
  using Bits = std::vector<double>;
  EXPECT_EQ(compare("olt"), (Bits{1, 0, 0, 0}));
  EXPECT_EQ(compare("ole"), (Bits{1, 1, 0, 0}));
  EXPECT_EQ(compare("ogt"), (Bits{0, 0, 1, 0}));
  EXPECT_EQ(compare("oge"), (Bits{0, 1, 1, 0}));
  EXPECT_EQ(compare("oeq"), (Bits{0, 1, 0, 0}));
  EXPECT_EQ(compare("one"), (Bits{1, 0, 1, 0}));
  EXPECT_EQ(compare("ult"), (Bits{1, 0, 0, 1}));
  EXPECT_EQ(compare("ule"), (Bits{1, 1, 0, 1}));
  EXPECT_EQ(compare("ugt"), (Bits{0, 0, 1, 1}));
  EXPECT_EQ(compare("uge"), (Bits{0, 1, 1, 1}));
  EXPECT_EQ(compare("ueq"), (Bits{0, 1, 0, 1}));
  EXPECT_EQ(compare("une"), (Bits{1, 0, 1, 1}));
  EXPECT_EQ(compare("ord"), (Bits{1, 1, 1, 0}));
  EXPECT_EQ(compare("uno"), (Bits{0, 0, 0, 1}));
}

TEST(Scalar, comparisons_of_integers) {
  auto compare = [&](std::string predicate) {
    return mapped("arith.cmpi " + predicate + ", %a, %b : i32", "i32", {-1, 2, 2}, {2, 2, 1}, "i1")
        .data;
  };
  using Bits = std::vector<double>;
  EXPECT_EQ(compare("eq"), (Bits{0, 1, 0}));
  EXPECT_EQ(compare("ne"), (Bits{1, 0, 1}));
  EXPECT_EQ(compare("slt"), (Bits{1, 0, 0}));
  EXPECT_EQ(compare("sle"), (Bits{1, 1, 0}));
  EXPECT_EQ(compare("sgt"), (Bits{0, 0, 1}));
  EXPECT_EQ(compare("sge"), (Bits{0, 1, 1}));
  EXPECT_EQ(compare("ult"), (Bits{0, 0, 0})); // -1 is the largest
  EXPECT_EQ(compare("ugt"), (Bits{1, 0, 1}));
}
