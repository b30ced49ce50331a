// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of which sizes may be factors that the file only names: 12, T, 3 * B * T.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <cstdint>
#include <optional>

namespace attn::importer {

/// A number times named sizes, by their numbers in the graph, in order.
struct Quantity {
  double factor = 0;
  llvm::SmallVector<unsigned, 2> names;

  Quantity() = default;
  Quantity(double number) : factor(number) {}
  /// One named size.
  static Quantity named(unsigned name) {
    Quantity size(1);
    size.names.push_back(name);
    return size;
  }
  bool isNumber() const { return names.empty(); }
  /// The number as a whole one: the nearest that 64 bits hold, 0 for what is none.
  int64_t whole() const {
    return factor != factor ? 0 : static_cast<int64_t>(std::min(std::max(factor, -9e18), 9e18));
  }
  bool is(double number) const { return isNumber() && factor == number; }
  bool operator==(const Quantity &other) const {
    return factor == other.factor && names == other.names;
  }
  bool operator!=(const Quantity &other) const { return !(*this == other); }
};

/// The product.
Quantity operator*(const Quantity &a, const Quantity &b);
/// The sum, where one name does not have to be told from another.
std::optional<Quantity> sum(const Quantity &a, const Quantity &b);
/// The quotient of sizes, without a rest.
std::optional<Quantity> quotient(const Quantity &a, const Quantity &b);

/// The sizes of a tensor's axes.
using Sizes = llvm::SmallVector<Quantity, 4>;

/// How many elements there are.
Quantity countOf(llvm::ArrayRef<Quantity> sizes);
/// Whether all sizes are numbers.
bool areNumbers(llvm::ArrayRef<Quantity> sizes);

} // namespace attn::importer
