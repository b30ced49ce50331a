// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors to how much of them is NaN or infinite.
#include "main/NotNumbers.h"
#include "base/Dtype.h"
#include "main/Objects.h"
#include <cmath>
#include <cstdio>

using namespace attn;

NotNumbers NotNumbers::of(const attn_tensor &tensor) {
  NotNumbers found;
  countElements(tensor.shape, tensor.rank, found.elements);
  if (!isFloat(tensor.dtype))
    return found;
  for (int64_t i = 0; i < found.elements; ++i) {
    double value = valueAt(tensor, i);
    if (std::isfinite(value))
      continue;
    bool isNan = std::isnan(value);
    ++(isNan ? found.nan : found.infinite);
    int64_t &first = isNan ? found.firstNan : found.firstInfinite;
    first = first < 0 ? i : first;
  }
  return found;
}

/// "[0, 3]"
static void appendPlace(Text &text, const attn_tensor &tensor, int64_t element) {
  int64_t place[ATTN_MAX_RANK];
  for (int32_t axis = tensor.rank; axis-- > 0; element /= tensor.shape[axis])
    place[axis] = element % tensor.shape[axis];
  text.appendShape(place, tensor.rank);
}

static void appendKind(Text &text, const attn_tensor &tensor, int64_t count, int64_t elements,
                       const char *kind, int64_t first) {
  if (count == 0)
    return;
  text.append(", %lld of %lld %s, first at ", static_cast<long long>(count),
              static_cast<long long>(elements), kind);
  appendPlace(text, tensor, first);
}

void NotNumbers::describe(const attn_tensor &tensor, Text &text) const {
  appendKind(text, tensor, nan, elements, "NaN", firstNan);
  appendKind(text, tensor, infinite, elements, "infinite", firstInfinite);
}

/// Whether a tensor has NaN, and what of it is none.
static bool hasNan(const attn_tensor &tensor, Text &text) {
  NotNumbers found = NotNumbers::of(tensor);
  text.clear();
  found.describe(tensor, text);
  return found.nan > 0;
}

void attn::warnOfNan(const attn_abi_entry &entry, int32_t count, const Tensors &outputs) {
  auto all = int32_t(outputs.list.size());
  bool isWarned = false;
  Text text;
  for (int32_t i = 0; i < count && i < all; ++i) {
    if (!hasNan(outputs.list[size_t(i)], text))
      continue;
    fflush(stdout);
    fprintf(stderr, "warning: output `%s` is not all numbers%s\n", entry.outputs[i].name,
            text.c_str());
    isWarned = true;
  }
  if (!isWarned)
    return;
  for (int32_t i = count; i < all; ++i) {
    if (!hasNan(outputs.list[size_t(i)], text))
      continue;
    fprintf(stderr, "   = note: the first in the order of computing is `%s`%s\n",
            entry.outputs[i].name, text.c_str());
    return;
  }
  if (all == count)
    fprintf(stderr, "   = help: `attn run SPEC --taps FILE` names the first value that has one\n");
}
