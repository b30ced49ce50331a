// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sorting by libc: the templates of the C++ library would leave symbols of it in the runtime.
#pragma once

#include <cstdlib>

namespace attn {

/// Sorts values of a trivially copyable type by `less`, a strict weak order.
template <typename T, typename Less> void sortValues(T *begin, T *end, Less less) {
  qsort_r(
      begin, size_t(end - begin), sizeof(T),
      [](const void *a, const void *b, void *order) {
        const Less &isLess = *static_cast<const Less *>(order);
        const T &first = *static_cast<const T *>(a), &second = *static_cast<const T *>(b);
        return isLess(first, second) ? -1 : int(isLess(second, first));
      },
      &less);
}

} // namespace attn
