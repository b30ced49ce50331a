// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two lists of numbers to how far they are apart.
#include "Difference.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace attn::tool {

void Difference::add(llvm::ArrayRef<double> got, llvm::ArrayRef<double> expected) {
  for (auto [a, b] : llvm::zip_equal(got, expected)) {
    ++count;
    hasFinite |= std::isfinite(b);
    squares += std::isfinite(b) ? b * b : 0;
    if (!first)
      first = b;
    isConstant &= b == *first || (std::isnan(b) && std::isnan(*first));
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double error = std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : INFINITY;
    most = std::max(most, error);
    errorSquares += error * error;
  }
}

double Difference::relativeL2() const {
  if (errorSquares == 0)
    return 0;
  return squares > 0 ? std::sqrt(errorSquares / squares) : INFINITY;
}

std::string Difference::remark() const {
  if (count == 0)
    return "no element: proves nothing";
  if (!hasFinite)
    return "NaN or infinite everywhere: proves nothing";
  if (isConstant && *first == 0)
    return "all 0: proves nothing";
  return isConstant && count > 1 ? fmt::format("all {:.6g}: proves little", *first) : "";
}

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

} // namespace attn::tool
