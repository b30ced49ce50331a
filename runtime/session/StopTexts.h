// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts before which a generated text ends, found across the borders of tokens.
#pragma once

#include "base/Vector.h"

namespace attn {

/// Looks for several texts in one that comes piece by piece. The first one that is complete counts,
/// of several that end at the same byte the longest. What may be the beginning of one of them is
/// held back until what follows tells, so the pieces make no difference.
class StopTexts {
public:
  /// `stops` outlive this; empty ones are never found.
  StopTexts(const char *const *stops, int32_t count) : stops(stops), count(count) {}

  /// Takes a piece; false where memory is lacking. Afterwards `ready` says what may be shown.
  bool add(const char *piece, size_t size);
  /// Makes all that was held back ready, as no more will come.
  void finish() { readySize = hasStopped() ? readySize : held.size(); }
  /// Whether one of the texts has been found: all before it is ready, and nothing will be later.
  bool hasStopped() const { return isStopped; }
  /// What may be shown: it belongs to this until the next call.
  const char *ready() const { return held.data(); }
  size_t size() const { return readySize; }

private:
  /// The size of the longest stop that ends at `end`; 0 where none does.
  size_t stopEndingAt(size_t end) const;
  /// How many bytes at the end may be the beginning of a stop.
  size_t undecided() const;

  const char *const *stops;
  int32_t count;
  Vector<char> held; ///< the first `readySize` bytes are ready, and go with the next call
  size_t readySize = 0;
  bool isStopped = false;
};

} // namespace attn
