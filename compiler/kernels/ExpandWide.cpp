// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// log, log2, log1p, pow, sin and cos, which are rare: calculated in double precision, where short
// series and plain range reductions do, and rounded to single precision once.
#include "compiler/kernels/MathBuilder.h"
#include <cmath>

using namespace mlir;
using namespace attn;

using P = arith::CmpFPredicate;

static const double infinity = HUGE_VAL, notANumber = std::nan("");

static Value extend(const MathBuilder &wide, Value x) {
  return arith::ExtFOp::create(wide.builder, wide.loc, wide.floats, x);
}

static Value truncate(const MathBuilder &m, Value x) {
  return arith::TruncFOp::create(m.builder, m.loc, m.floats, x);
}

/// x = 2^exponent * mantissa, mantissa in [sqrt(1/2), sqrt(2)), and its natural logarithm.
namespace {
struct Logarithm {
  Value exponent, ofMantissa;
};
} // namespace

/// The logarithm of doubles that are positive, normal and finite; relative error 1e-13.
static Logarithm logarithm(const MathBuilder &w, Value x) {
  const int64_t one = 0x3ff0000000000000, root = 0x3fe6a09e667f3bcd; // 1, sqrt(1/2)
  Value moved = w.iadd(w.bits(x), w.integer(one - root));
  Value mantissa =
      w.fromBits(w.iadd(w.iand(moved, w.integer(0x000fffffffffffff)), w.integer(root)));
  // A small integer in the low bits of 2^52 is 2^52 plus it.
  Value exponent = w.sub(w.fromBits(w.ior(w.shiftRight(moved, 52), w.integer(0x4330000000000000))),
                         w.constant(0x1p52 + 1023));
  // log(m) = 2 artanh((m - 1) / (m + 1)), whose argument is at most 0.172.
  Value s = w.div(w.sub(mantissa, w.constant(1)), w.add(mantissa, w.constant(1)));
  Value series = w.polynomial(
      w.mul(s, s), {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15});
  return {exponent, w.mul(s, series)};
}

static Value naturalLogarithm(const MathBuilder &w, Value x) {
  Logarithm log = logarithm(w, x);
  return w.fma(log.exponent, w.constant(M_LN2), log.ofMantissa);
}

static Value binaryLogarithm(const MathBuilder &w, Value x) {
  Logarithm log = logarithm(w, x);
  return w.fma(log.ofMantissa, w.constant(M_LOG2E), log.exponent);
}

/// `log` where 0 < x < inf; else -inf of 0, inf of inf, and NaN.
static Value withEnds(const MathBuilder &w, Value x, Value log) {
  Value rest =
      w.select(w.compare(P::OEQ, x, w.constant(0)), w.constant(-infinity), w.constant(notANumber));
  log = w.select(w.compare(P::OGT, x, w.constant(0)), log, rest);
  return w.select(w.compare(P::OEQ, x, w.constant(infinity)), x, log);
}

Value attn::expandLog(const MathBuilder &m, Value x) {
  MathBuilder w = m.wide();
  Value wide = extend(w, x);
  return truncate(m, withEnds(w, wide, naturalLogarithm(w, wide)));
}

Value attn::expandLog2(const MathBuilder &m, Value x) {
  MathBuilder w = m.wide();
  Value wide = extend(w, x);
  return truncate(m, withEnds(w, wide, binaryLogarithm(w, wide)));
}

Value attn::expandLog1p(const MathBuilder &m, Value x) {
  MathBuilder w = m.wide();
  Value wide = extend(w, x), one = w.constant(1), sum = w.add(wide, one);
  // What the sum lost, to first order; it is all of a small x.
  Value lost = w.div(w.sub(wide, w.sub(sum, one)), sum);
  Value log = w.add(naturalLogarithm(w, sum), lost);
  Value result = withEnds(w, sum, log);
  return truncate(m, w.select(w.compare(P::OEQ, wide, w.constant(0)), wide, result)); // -0, too
}

/// 2^x of doubles, relative error 1e-10; to 0 and infinity of single precision at the ends.
static Value exponential(const MathBuilder &w, Value x) {
  x = w.atMost(w.atLeast(x, -200), 200);
  Value magic = w.constant(0x1.8p52), shifted = w.add(x, magic), n = w.sub(shifted, magic);
  Value scale = w.fromBits(w.iadd(w.shiftLeft(w.bits(shifted), 52), w.integer(0x3ff0000000000000)));
  // 2^r is e^(r ln 2): its series, |r ln 2| <= 0.347.
  Value r = w.mul(w.sub(x, n), w.constant(M_LN2));
  return w.mul(w.polynomial(r, {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720,
                                1.0 / 5040, 1.0 / 40320}),
               scale);
}

/// A float's sign bit with the magnitude of another.
static Value withSign(const MathBuilder &w, Value magnitude, Value sign) {
  return w.fromBits(w.ior(w.bits(magnitude), w.iand(w.bits(sign), w.integer(INT64_MIN))));
}

Value attn::expandPow(const MathBuilder &m, Value x, Value y) {
  MathBuilder w = m.wide();
  Value base = extend(w, x), power = extend(w, y), zero = w.constant(0), one = w.constant(1);
  Value size = w.abs(base);
  Value log = withEnds(w, size, binaryLogarithm(w, size));
  Value result = exponential(w, w.mul(power, log));

  // A negative base has a power if that is whole, negative if it is odd. 0 and infinity as bases
  // have both signs and all powers.
  Value half = w.mul(power, w.constant(0.5));
  Value isOdd = w.compare(P::ONE, w.roundDown(half), half),
        isWhole = w.compare(P::OEQ, w.roundDown(power), power);
  isOdd = w.iand(isOdd, isWhole);
  result = w.select(isOdd, withSign(w, result, base), result);
  Value isNegative =
      w.iand(w.compare(P::OLT, base, zero), w.compare(P::OGT, base, w.constant(-infinity)));
  Value isUnknown = w.iand(isNegative, w.compare(P::UNE, w.roundDown(power), power));
  result = w.select(isUnknown, w.constant(notANumber), result);

  // 1 to the power of anything and anything to the power of 0 is 1, NaN also; so is -1 to +-inf.
  Value isOne = w.ior(w.compare(P::OEQ, base, one), w.compare(P::OEQ, power, zero));
  Value isEndless = w.compare(P::OEQ, w.abs(power), w.constant(infinity));
  isOne = w.ior(isOne, w.iand(w.compare(P::OEQ, size, one), isEndless));
  return truncate(m, w.select(isOne, one, result));
}

/// sin(x + quarters * pi / 2), exact to rounding for |x| < 2^50; NaN above.
static Value sine(const MathBuilder &m, Value x, int64_t quarters) {
  MathBuilder w = m.wide();
  Value wide = extend(w, x);
  // x = n pi/2 + r; pi/2 in two doubles leaves an error below 1e-15 at n = 2^50.
  Value magic = w.constant(0x1.8p52);
  Value shifted = w.add(w.mul(wide, w.constant(M_2_PI)), magic), n = w.sub(shifted, magic);
  Value r = w.fma(n, w.constant(-0x1.921fb54442d18p+0), wide);
  r = w.fma(n, w.constant(-0x1.1a62633145c07p-54), r);
  Value t = w.mul(r, r);
  Value sin = w.mul(
      r, w.polynomial(t, {1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800}));
  Value cos = w.polynomial(
      t, {1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600});
  Value quarter = w.bits(shifted);
  if (quarters)
    quarter = w.iadd(quarter, w.integer(quarters));
  // Odd quarters are cosines, the second two negative.
  Value result = w.select(w.isZero(w.iand(quarter, w.integer(1))), sin, cos);
  result = w.fromBits(w.ixor(w.bits(result), w.shiftLeft(w.iand(quarter, w.integer(2)), 62)));
  Value isNear = w.compare(P::OLE, w.abs(wide), w.constant(0x1p50));
  return truncate(m, w.select(isNear, result, w.constant(notANumber)));
}

Value attn::expandSin(const MathBuilder &m, Value x) { return sine(m, x, 0); }
Value attn::expandCos(const MathBuilder &m, Value x) { return sine(m, x, 1); }
