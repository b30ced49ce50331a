// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far numbers are from those expected, where they are no numbers, and numbers that prove
// nothing whatever the difference.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>

namespace attn::tool {

/// Elements of some kind among all of a tensor, and where the first one is.
struct Places {
  size_t count = 0;
  std::string first; ///< "[0, 3]", or "[0, 3] of call 2"

  /// Counts an element of a tensor of `shape`, the `call`th that was added.
  void add(size_t index, llvm::ArrayRef<int64_t> shape, size_t call);
};

/// The difference of tensors, compared one after the other. NaN on both sides is left out of the
/// comparison and counted; infinities are equal to themselves. Other than that, what is NaN or
/// infinite on one side differs by infinity.
class Difference {
public:
  /// Adds a tensor of `shape`, with as many numbers as are expected.
  void add(llvm::ArrayRef<double> got, llvm::ArrayRef<double> expected,
           llvm::ArrayRef<int64_t> shape);
  /// The largest difference of two numbers, and the L2 norm of the differences over that of the
  /// expected numbers.
  double maxAbsolute() const { return most; }
  double relativeL2() const;

  /// The least and the greatest of the numbers that were got, infinities aside; none without any.
  std::optional<double> least() const { return gotLeast; }
  std::optional<double> greatest() const { return gotGreatest; }

  /// Whether there were elements, and nothing but NaN and infinities among those expected.
  bool isEmpty() const { return count > 0 && !hasFinite; }
  /// Whether every element is the same infinity on both sides, as the log-sum-exp of a row that
  /// sees nothing is.
  bool isInfinite() const { return isEmpty() && nan.count == 0 && oneSided.count == 0; }
  /// What is NaN or infinite: "12 of 24 NaN, first at [0, 3]". Empty where nothing is.
  std::string notNumbers() const;
  /// Whether an element is NaN on both sides, or NaN or infinite on one side only.
  bool hasBad() const { return nan.count > 0 || oneSided.count > 0; }

  /// What a person should know of the numbers that were expected: "all 0: proves nothing". Empty
  /// where they differ from each other.
  std::string remark() const;

private:
  double most = 0, errorSquares = 0, squares = 0;
  std::optional<double> first; ///< of the numbers expected, but for NaN
  std::optional<double> gotLeast, gotGreatest;
  size_t count = 0, calls = 0;
  bool isConstant = true, hasFinite = false;
  Places nan, infinite;               ///< on both sides
  Places oneSided;                    ///< NaN or infinite on one side only
  double oneGot = 0, oneExpected = 0; ///< the first such element
};

/// "[3, 10]"
std::string shapeText(llvm::ArrayRef<int64_t> shape);

} // namespace attn::tool
