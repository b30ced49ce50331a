// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value of a formula, and the interval of one that is a whole number.
#pragma once

#include "compiler/frontend/sema/Values.h"
#include "compiler/frontend/syntax/Ast.h"
#include <vector>

namespace attn::frontend {

/// The least and the largest that a whole number of a formula may be; both ends included.
struct Interval {
  static constexpr int64_t unbounded = int64_t(1) << 31;
  int64_t low = -unbounded, high = unbounded;

  /// The interval of one number.
  static Interval of(int64_t number) { return {number, number}; }
  /// Whether both ends are known, and whether all lies between two numbers.
  bool isBounded() const { return low > -unbounded && high < unbounded; }
  bool isWithin(int64_t from, int64_t to) const { return low >= from && high <= to; }
  Interval operator+(const Interval &other) const;
  Interval operator-() const;
  Interval operator*(const Interval &other) const;
  /// a % b, which is from 0 to b - 1.
  Interval remainder(int64_t divisor) const;
  /// floor(a / b)
  Interval quotient(int64_t divisor) const;
  Interval magnitude() const;
  static Interval hull(const Interval &a, const Interval &b);
  static Interval minimum(const Interval &a, const Interval &b);
  static Interval maximum(const Interval &a, const Interval &b);
  /// "from -3 to 12", "any whole number".
  std::string text() const;
};

/// A value of a formula. `Number` and nothing else is known when compiling.
struct FormulaValue {
  /// What kind of value it is, and which of the fields hold it.
  enum class Kind {
    Error,    ///< reported
    Number,   ///< `number`
    Scalar,   ///< f32
    Position, ///< index: of the query or the key along an axis, and what is calculated from it
    Truth,    ///< i1
    Vector,   ///< tensor<E>: the query or the key, and what is calculated from them
    Dot       ///< an inner product of `value`, of the query, and `key`, not built yet
  } kind = Kind::Error;
  double number = 0;
  mlir::Value value = {};

  /// Of scores: what depends on the query or the key alone (or on none, Constant) is computed
  /// outside of the region for all of them: `value` is a tensor of the model, with the axes of its
  /// side (and the features, for a Vector).
  enum class Side { Pair, Constant, Query, Key } side = Side::Pair;
  Interval range = {}; ///< Of a Position; of a quotient, of what is left of it without a fraction.
  Axis axis = {"", 0}; ///< A Position that is one along an axis and nothing else; a Vector's axis.
  mlir::Value key = {};
  std::vector<std::pair<ast::BinaryOp, double>> then = {}; ///< What a Dot is calculated with.
  bool isQuotient = false; ///< A Scalar that is a whole number divided by another one.
  bool isFloored = false;  ///< A Scalar without a fraction, or NaN; `range` is its interval.

  /// A position, or what is calculated from positions.
  static FormulaValue position(mlir::Value value, Interval range, Axis axis = {"", 0}) {
    return {Kind::Position, 0, value, Side::Pair, range, std::move(axis)};
  }
  /// Whether the value is computed outside of the region, for all queries or keys.
  bool isHoisted() const { return side != Side::Pair; }
};

} // namespace attn::frontend
