// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the steps of a tokenizer may make of a text. A file of a kilobyte can have five steps that
// each make a hundred characters of one; with a bound none of them takes all memory.
#pragma once

#include "base/Error.h"

namespace attn {

/// A budget of bytes that the steps of one normalizer, pre-tokenizer or decoder share, and the step
/// that is at it.
class Growth {
public:
  /// For texts that are kept with the origin of each byte and become tokens: about 200 bytes of
  /// memory for one of the text.
  static constexpr size_t aligned = size_t(1) << 22;
  /// For the texts that tokens become.
  static constexpr size_t decoded = size_t(1) << 26;
  /// For the contents of added tokens: about 100 bytes of memory for one of these.
  static constexpr size_t mostAdded = size_t(1) << 20;
  /// Tokens that a template, or filling up, may make of a few.
  static constexpr size_t mostTokensOfText = size_t(1) << 22;

  /// So many bytes are free; and of what is `given`, each of `steps` steps, or what follows them,
  /// may make 16 times as much.
  Growth(size_t free, size_t given, size_t steps) {
    if (__builtin_mul_overflow(given, 16 * (steps + 2), &most) ||
        __builtin_add_overflow(most, free, &most))
      most = SIZE_MAX;
  }
  /// Says which step makes what is counted from now on: from 1.
  void begin(const char *component, size_t step, const char *name) { at = {component, step, name}; }
  /// Counts bytes; false where there are too many.
  bool take(size_t bytes) {
    isOver = isOver || bytes > most - made;
    made += isOver ? 0 : bytes;
    return !isOver;
  }
  bool isSpent() const { return isOver; }
  /// R0709: names the step and the bound.
  attn_status report(Error &error) const;

private:
  /// A step of a component.
  struct Step {
    const char *component = "tokenizer";
    size_t number = 0;
    const char *name = nullptr;
  };
  Step at;
  size_t most, made = 0;
  bool isOver = false;
};

} // namespace attn
