// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of tensors: a table from names to indices, wildcards, the distance between two of them.
#pragma once

#include "base/Vector.h"

namespace attn {

/// Finds indices by name. The names stay the caller's.
class NameTable {
public:
  /// False where memory is lacking. `index` is what `find` returns; an equal name must not be
  /// there.
  bool insert(const char *name, size_t length, int64_t index);
  /// The index, or -1.
  int64_t find(const char *name, size_t length) const;

private:
  /// A place of the table.
  struct Slot {
    const char *name; // null where free
    size_t length;
    int64_t index;
  };
  /// Doubles the places; false where memory is lacking.
  bool grow();
  Vector<Slot> slots; // a power of two, at most half full
  size_t count = 0;
};

/// FNV-1a, 64 bits.
uint64_t hashName(const char *name, size_t length);

/// Whether `name` matches `pattern`, in which "*" stands for any text.
bool matchesWildcard(const char *pattern, const char *name);

/// The number of insertions, deletions and replacements between two names, or `limit` where it is
/// not below that.
size_t editDistance(const char *a, size_t aLength, const char *b, size_t bLength, size_t limit);

} // namespace attn
