// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory for strings that live as long as each other: names of tensors, texts of a report.
#pragma once

#include "base/Vector.h"

namespace attn {

/// Owns copies of strings until it dies; the copies do not move.
class Arena {
public:
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena();
  /// A copy with a NUL after it; null where memory is lacking.
  char *copy(const char *bytes, size_t size);

private:
  Vector<char *> blocks;
  size_t used = 0, room = 0;
};

} // namespace attn
