// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exp2 and exp. x = n + r with n whole and |r| <= 1/2; 2^x = 2^n * p(r). With vectors of 512 bits,
// exp2 has n in steps of 1/32, and 2^n is 2^floor(n) times an element of a table; the rough one has
// 0 <= r < 1, which is one instruction.
#include "compiler/kernels/MathBuilder.h"
#include "llvm/ADT/Twine.h"
#include <cmath>

using namespace mlir;
using namespace attn;

/// 2^r on [-1/2, 1/2], relative error 2e-9: rounding is what remains.
static const double exp2Coefficients[] = {1.0,
                                          0.6931471824645996,
                                          0.24022647738456726,
                                          0.055503323674201965,
                                          0.009618437848985195,
                                          0.0013398875016719103,
                                          0.00015353350318036973};

/// 2^r on [0, 1], relative error 8.6e-5, exact at 0.
static const double roughCoefficients[] = {1.0, 0.6951167870059775, 0.2276449885985215,
                                           0.07706704437544354};

/// 2^r = 1 + r (c[0] + c[1] r) on [-1/64, 1/64], relative error 5.3e-8.
static const double stepCoefficients[] = {0.69315733, 0.2402265};

static const double log2e = 1.44269504088896340736;

/// 2^-150 and less round to 0, 2^128 and more to infinity.
static const double leastExponent = -151, mostExponent = 129;

namespace {
/// A whole number as a float, and where the bits of that come from.
struct Whole {
  Value value;
  Value shifted; ///< value + 1.5 * 2^23: its lowest bits are value as an integer; null for AVX-512
};
} // namespace

/// x to the nearest whole number, ties to even; for the shifted form |x| < 2^22.
static Whole nearest(const MathBuilder &m, Value x) {
  if (m.avx512Suffix())
    return {m.roundEven(x), Value()};
  Value magic = m.constant(12582912.0), shifted = m.add(x, magic);
  return {m.sub(shifted, magic), shifted};
}

/// p * 2^n, gradually to 0 and to infinity.
static Value scale(const MathBuilder &m, Value p, const Whole &n) {
  if (m.avx512Suffix()) // NaN stays NaN, p * 2^inf is inf and p * 2^-inf is 0 whatever p.
    return m.masked("scalef", {p, n.value});
  // 2^n in two factors: one alone reaches neither denormals nor a p below 1 at n = 128. The lowest
  // bits of the constant in `shifted` are zeros, so that they vanish in the shift.
  Value bits = m.bits(n.shifted), one = m.integer(0x3f800000);
  Value half = m.shiftRightSigned(bits, 1), rest = m.isub(bits, half);
  Value first = m.fromBits(m.iadd(m.shiftLeft(half, 23), one)),
        second = m.fromBits(m.iadd(m.shiftLeft(rest, 23), one));
  return m.mul(m.mul(p, first), second);
}

static Value exp2ByPolynomial(const MathBuilder &m, Value x) {
  // With AVX-512 any x will do: from 2^23 on x is n and p is 1, and for an infinite x p is NaN,
  // which scale never looks at.
  if (!m.avx512Suffix())
    x = m.atMost(m.atLeast(x, leastExponent), mostExponent);
  Whole n = nearest(m, x);
  return scale(m, m.polynomial(m.sub(x, n.value), exp2Coefficients), n);
}

/// Half the products of the polynomial alone. Less than 1.9 units of the last place: half a one by
/// the table, 0.9 by the polynomial next to 2, half by rounding. Any x will do, as with AVX-512 in
/// exp2ByPolynomial.
static Value exp2ByTable(const MathBuilder &m, Value x) {
  constexpr size_t steps = 32;
  float table[steps];
  for (size_t i = 0; i < steps; ++i)
    table[i] = std::exp2(double(i) / steps);
  // The lowest bits of `shifted` are those of n * steps, since those of 1.5 * 2^18 are zeros.
  Value magic = m.constant(393216.0), shifted = m.add(x, magic), n = m.sub(shifted, magic);
  Value r = m.sub(x, n), factor = m.lookUp(table, m.bits(shifted));
  Value power = m.mul(m.polynomial(r, stepCoefficients), r);
  return scale(m, m.fma(factor, power, factor), {n, Value()});
}

Value attn::expandExp2(const MathBuilder &m, Value x) {
  return m.avx512Suffix() == "512" ? exp2ByTable(m, x) : exp2ByPolynomial(m, x);
}

/// vreduceps, imm: what is above the next lower whole number; inexactness raises nothing.
static constexpr int64_t aboveFloor = 0b1001;

Value attn::expandRoughExp2(const MathBuilder &m, Value x) {
  if (!m.avx512Suffix())
    return expandExp2(m, x);
  Value r = m.masked("reduce", {x, m.scalarInteger(aboveFloor, 32)});
  return scale(m, m.polynomial(r, roughCoefficients), {x, Value()}); // which takes floor(x)
}

Value attn::expandExp(const MathBuilder &m, Value x) {
  // Below, the difference that makes r would no longer be small and p not positive. Above, p is
  // positive whatever r, so that AVX-512's infinity comes by itself.
  x = m.atLeast(x, leastExponent / log2e);
  if (!m.avx512Suffix())
    x = m.atMost(x, mostExponent / log2e);
  // r from the whole product, whose rounding would grow with x, and with log2(e) to 48 bits.
  float high = log2e, low = log2e - high;
  Whole n = nearest(m, m.mul(x, m.constant(high)));
  Value r = m.fma(x, m.constant(high), m.neg(n.value));
  r = m.fma(x, m.constant(low), r);
  return scale(m, m.polynomial(r, exp2Coefficients), n);
}
