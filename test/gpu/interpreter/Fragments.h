// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elements of matrix products.
#pragma once

#include "test/gpu/interpreter/Decoding.h"

namespace attn::ptx {

/// An element type of A and B: its size, 0 for one that is not supported, and a number's value.
struct Element {
  int bits;
  double (*value)(uint32_t);

  /// The i-th of the elements in a register.
  double at(uint64_t packed, int i) const;
};
Element elementNamed(Type type);

} // namespace attn::ptx
