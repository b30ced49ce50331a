// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calculations with sizes of which some are only named.
#include "compiler/import/onnx/graph/Quantity.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

Quantity operator*(const Quantity &a, const Quantity &b) {
  Quantity result(a.factor * b.factor);
  if (result.factor == 0)
    return result;
  result.names = a.names;
  append_range(result.names, b.names);
  sort(result.names);
  return result;
}

std::optional<Quantity> sum(const Quantity &a, const Quantity &b) {
  if (a.is(0))
    return b;
  if (b.is(0))
    return a;
  if (a.names != b.names)
    return std::nullopt;
  Quantity result = a;
  result.factor += b.factor;
  if (result.factor == 0)
    result.names.clear();
  return result;
}

std::optional<Quantity> quotient(const Quantity &a, const Quantity &b) {
  if (b.factor == 0 || std::floor(a.factor / b.factor) * b.factor != a.factor)
    return std::nullopt;
  Quantity result(a.factor / b.factor);
  SmallVector<unsigned, 2> rest = a.names;
  for (unsigned name : b.names) {
    auto *found = find(rest, name);
    if (found == rest.end())
      return std::nullopt;
    rest.erase(found);
  }
  result.names = rest;
  return result;
}

Quantity countOf(ArrayRef<Quantity> sizes) {
  Quantity count(1);
  for (const Quantity &size : sizes)
    count = count * size;
  return count;
}

bool areNumbers(ArrayRef<Quantity> sizes) {
  return all_of(sizes, [](const Quantity &size) { return size.isNumber(); });
}

} // namespace attn::importer
