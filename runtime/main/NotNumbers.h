// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of outputs that are NaN or infinite: how many, and where the first one is.
#pragma once

#include "main/Command.h"

namespace attn {

/// What of a tensor is no number.
struct NotNumbers {
  int64_t elements = 0, nan = 0, infinite = 0;
  int64_t firstNan = -1, firstInfinite = -1; ///< elements, counted from 0

  /// Counts those of a tensor; of one that is not of floats there are none.
  static NotNumbers of(const attn_tensor &tensor);
  /// ", 12 of 24 NaN, first at [0, 3]"; nothing where all are numbers.
  void describe(const attn_tensor &tensor, Text &text) const;
};

/// Warns on stderr of the first `count` outputs of an entry that hold NaN; of those behind them,
/// which are named intermediates, the first that does is named.
void warnOfNan(const attn_abi_entry &entry, int32_t count, const Tensors &outputs);

} // namespace attn
