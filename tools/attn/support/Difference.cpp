// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two lists of numbers to how far they are apart, and where they are none.
#include "Difference.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace attn::tool {

void Places::add(size_t index, llvm::ArrayRef<int64_t> shape, size_t call) {
  if (count++ > 0)
    return;
  llvm::SmallVector<int64_t> place(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    place[axis] = static_cast<int64_t>(index) % shape[axis];
    index /= static_cast<size_t>(shape[axis]);
  }
  first = shapeText(place) + (call > 1 ? " of call " + std::to_string(call) : "");
}

void Difference::add(llvm::ArrayRef<double> got, llvm::ArrayRef<double> expected,
                     llvm::ArrayRef<int64_t> shape) {
  ++calls;
  count += got.size();
  for (auto [i, a, b] : llvm::enumerate(got, expected)) {
    if (std::isfinite(a)) {
      gotLeast = std::min(gotLeast.value_or(a), a);
      gotGreatest = std::max(gotGreatest.value_or(a), a);
    }
    if (std::isnan(a) && std::isnan(b)) {
      nan.add(i, shape, calls);
      continue;
    }
    hasFinite |= std::isfinite(b);
    squares += std::isfinite(b) ? b * b : 0;
    if (!first)
      first = b;
    isConstant &= b == *first || (std::isnan(b) && std::isnan(*first));
    if (a == b) {
      if (std::isinf(a))
        infinite.add(i, shape, calls);
      continue;
    }
    double error = INFINITY;
    if (std::isfinite(a) && std::isfinite(b)) {
      error = std::fabs(a - b);
    } else {
      if (oneSided.count == 0)
        oneGot = a, oneExpected = b;
      oneSided.add(i, shape, calls);
    }
    most = std::max(most, error);
    errorSquares += error * error;
  }
}

double Difference::relativeL2() const {
  if (errorSquares == 0)
    return 0;
  return squares > 0 ? std::sqrt(errorSquares / squares) : INFINITY;
}

std::string Difference::notNumbers() const {
  std::string text;
  auto append = [&](const Places &places, const char *what) {
    if (places.count > 0)
      text += fmt::format("{}{} of {} {}, first at {}", text.empty() ? "" : "; ", places.count,
                          count, what, places.first);
  };
  append(nan, "NaN");
  append(infinite, "infinite");
  append(oneSided, "NaN or infinite on one side only");
  if (oneSided.count > 0)
    text += fmt::format(": {:.6g}, expected {:.6g}", oneGot, oneExpected);
  return text;
}

std::string Difference::remark() const {
  if (count == 0)
    return "no element: proves nothing";
  if (isEmpty())
    return "nothing left to compare";
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
