// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far numbers are from those expected, and numbers that prove nothing whatever the difference.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>

namespace attn::tool {

/// The difference of tensors, compared one after the other. NaN and infinities are equal to
/// themselves; other than that they differ by infinity.
class Difference {
public:
  /// Adds a tensor of as many numbers as are expected.
  void add(llvm::ArrayRef<double> got, llvm::ArrayRef<double> expected);
  /// The largest difference of two numbers, and the L2 norm of the differences over that of the
  /// expected numbers.
  double maxAbsolute() const { return most; }
  double relativeL2() const;

  /// What a person should know of the numbers that were expected: "all 0: proves nothing". Empty
  /// where they differ from each other.
  std::string remark() const;

private:
  double most = 0, errorSquares = 0, squares = 0;
  std::optional<double> first; ///< of the numbers expected
  size_t count = 0;
  bool isConstant = true, hasFinite = false;
};

/// "[3, 10]"
std::string shapeText(llvm::ArrayRef<int64_t> shape);

} // namespace attn::tool
