// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes, strides and offsets as polynomials in the dynamic dims: exact to compare at compile time,
// a few instructions to compute at run time. `151296 * B` is {["B"]: 151296}; the pseudo-dim
// "#threads" counts the threads of the team.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>
#include <string>
#include <vector>

namespace attn {

/// A polynomial with integer coefficients in named dims.
class SizePolynomial {
public:
  SizePolynomial(int64_t constant = 0);
  /// The polynomial of one dim alone.
  static SizePolynomial dim(llvm::StringRef name);

  SizePolynomial operator+(const SizePolynomial &other) const;
  SizePolynomial operator-(const SizePolynomial &other) const {
    return *this + SizePolynomial(-1) * other;
  }
  SizePolynomial operator*(const SizePolynomial &other) const;
  bool operator==(const SizePolynomial &other) const { return terms == other.terms; }

  /// With `value` in the place of a dim.
  SizePolynomial with(llvm::StringRef dim, const SizePolynomial &value) const;
  /// What `attribute` has written.
  static SizePolynomial of(mlir::ArrayAttr attribute);
  /// Its value where a dim is `size` of its name, which is asked for each; INT64_MAX where that
  /// does not fit. Coefficients are not negative.
  int64_t at(llvm::function_ref<int64_t(llvm::StringRef)> size) const;
  /// With each coefficient divided, rounded down.
  SizePolynomial dividedBy(int64_t divisor) const;

  /// Whether it depends on no dim.
  bool isConstant() const;
  /// The value of a constant polynomial.
  int64_t constant() const;
  /// A bound of both for all dims of at least 1: the larger coefficient of each monomial
  /// (coefficients are not negative).
  static SizePolynomial upperBound(const SizePolynomial &a, const SizePolynomial &b);

  /// Whether it is at least 0 for all dims of at least 1; false where that is not seen.
  bool isNeverNegative() const;
  /// The remainder of a division by `divisor`: this less a multiple of it. 0 where it divides.
  SizePolynomial remainder(const SizePolynomial &divisor) const;

  /// Emits its value as an index; `dim` gives the value of a named dim.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc,
                   llvm::function_ref<mlir::Value(llvm::StringRef)> dim) const;

  /// As the spec writes it, what is taken away at the end: `2 * B * T - 3`.
  std::string text() const;
  /// As attn.cost has it: `[[151296, "B"], [3]]`.
  mlir::ArrayAttr attribute(mlir::Builder builder) const;

private:
  /// The dims of a term, each as often as it is a factor.
  using Monomial = std::vector<std::string>; // sorted names
  std::map<Monomial, int64_t> terms;         // no zero coefficients
  /// The term of the highest degree; of several the last in the order of names.
  std::pair<Monomial, int64_t> leading() const;
};

} // namespace attn
