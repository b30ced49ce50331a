// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// erf and tanh, up to where the function is 1 in single precision: x * P(x^2) / Q(x^2), and with
// vectors of 512 bits x times a polynomial whose coefficients are in tables.
#include "compiler/kernels/MathBuilder.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {

/// A function's fit on [0, limit], odd beyond 0. The coefficients are of x^2. The limit is a float
/// where both fits, as calculated, are just 1.
struct OddFunction {
  double (*exact)(double);
  double limit;
  ArrayRef<double> numerator, denominator;
  size_t degree; ///< of the tables' polynomials
};

} // namespace

// vdivps runs beside the multiplications, so that an approximate reciprocal with its correction
// takes longer: 0.38 ns an element of erf, where this takes 0.33.
static Value byQuotient(const MathBuilder &m, Value x, const OddFunction &function) {
  Value t = m.mul(x, x);
  return m.quotient(m.mul(x, m.polynomial(t, function.numerator)),
                    m.polynomial(t, function.denominator));
}

static constexpr size_t pieces = 32;

/// The coefficients of r in exact(t) / t, t = (piece / 8 + r) / scale with |r| <= 1/16, for each
/// piece: through the zeros of a Chebyshev polynomial.
static SmallVector<std::array<float, pieces>> fitPieces(const OddFunction &function, double scale) {
  size_t count = function.degree + 1;
  SmallVector<std::array<float, pieces>> coefficients(count);
  for (size_t piece = 0; piece < pieces; ++piece) {
    SmallVector<double> nodes(count), differences(count), powers(count, 0);
    for (size_t i = 0; i < count; ++i) {
      nodes[i] = std::cos(M_PI * double(2 * i + 1) / double(2 * count)) / 16;
      double t = (double(piece) / 8 + nodes[i]) / scale;
      differences[i] = function.exact(t) / t;
    }
    for (size_t order = 1; order < count; ++order) // Newton's divided differences
      for (size_t i = count - 1; i >= order; --i)
        differences[i] = (differences[i] - differences[i - 1]) / (nodes[i] - nodes[i - order]);
    for (size_t i = count; i-- > 0;) { // powers * (r - nodes[i]) + differences[i]
      for (size_t power = count - 1; power > 0; --power)
        powers[power] = powers[power - 1] - nodes[i] * powers[power];
      powers[0] = differences[i] - nodes[i] * powers[0];
    }
    for (size_t power = 0; power < count; ++power)
      coefficients[power][piece] = float(powers[power]);
  }
  return coefficients;
}

/// A third of the quotient's multiplications, and no division.
static Value byTables(const MathBuilder &m, Value x, const OddFunction &function) {
  // The limit lies in the last piece, not where that ends.
  double scale = std::min(1.0, (double(pieces) - 0.6) / 8 / function.limit);
  Value t = m.abs(x);
  if (scale < 1)
    t = m.mul(t, m.constant(scale));
  // The lowest bits of `shifted` are those of the piece, since those of 1.5 * 2^20 are zeros.
  Value magic = m.constant(1572864.0), shifted = m.add(t, magic);
  Value r = m.sub(t, m.sub(shifted, magic)), piece = m.bits(shifted), sum;
  auto tables = fitPieces(function, scale);
  for (const auto &table : llvm::reverse(tables)) {
    Value coefficient = m.lookUp(table, piece);
    sum = sum ? m.fma(sum, r, coefficient) : coefficient;
  }
  return m.mul(x, sum);
}

static Value evaluate(const MathBuilder &m, Value x, const OddFunction &function) {
  x = m.atMost(m.atLeast(x, -function.limit), function.limit);
  return m.avx512Suffix() == "512" ? byTables(m, x, function) : byQuotient(m, x, function);
}

/// Relative error before rounding 1.9e-8, by tables 1.9e-7.
Value attn::expandErf(const MathBuilder &m, Value x) {
  static const double p[] = {1.12837914604,    0.190412959938,   0.0527495746824,
                             0.00376588688651, 0.00028488732666, 2.05002178222e-6};
  static const double q[] = {
      1.0, 0.502081831797, 0.114111787688, 0.0149697667648, 0.00116259773633, 3.80912695057e-5};
  return evaluate(m, x, {[](double t) { return std::erf(t); }, 0x1.f5c294p+1, p, q, 3});
}

/// Relative error before rounding 2.1e-8, by tables 1.5e-8.
Value attn::expandTanh(const MathBuilder &m, Value x) {
  static const double p[] = {0.999999978901, 0.13379704846, 0.00349401943975, 2.05832486645e-5,
                             1.33187790841e-8};
  static const double q[] = {1.0, 0.467130200568, 0.0258710145817, 0.000328306882109,
                             7.76189339451e-7};
  return evaluate(m, x, {[](double t) { return std::tanh(t); }, 9.02, p, q, 5});
}
