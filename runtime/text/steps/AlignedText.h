// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text that has been changed, each byte of which knows where in the original it comes from.
#pragma once

#include "text/steps/Growth.h"
#include "text/steps/Unicode.h"

namespace attn {

/// A range of bytes of the text that was given.
struct Range {
  uint32_t begin = 0, end = 0;
};

/// Valid UTF-8 with the range of the original behind each byte. `isGood` turns false, and stays so,
/// where memory is lacking or a budget is spent; the text is then as it was before.
class AlignedText {
public:
  /// Takes `text` as it is, with U+FFFD for what is not UTF-8.
  void assign(Slice text);
  void clear();
  /// Room for `size` bytes in all.
  void reserve(size_t size);

  /// The bytes; they move when something is appended.
  Slice slice() const { return Slice(bytes); }
  size_t size() const { return bytes.size(); }
  const char *data() const { return bytes.data(); }
  /// The range of the original behind the bytes from `begin` to before `end`.
  Range originOf(size_t begin, size_t end) const;

  /// Appends bytes that all come from `origin`.
  void append(Slice text, Range origin);
  /// Appends a character.
  void append(Char c, Range origin);
  /// Appends bytes of another text, each from where it comes there.
  void append(const AlignedText &other, size_t begin, size_t end);
  /// Takes bytes from the end, so that `size` are left.
  void truncate(size_t size);
  void swap(AlignedText &other) noexcept;

  bool isGood = true;
  Growth *growth = nullptr; ///< what is appended is counted there; no part of what `swap` swaps

private:
  Vector<char> bytes;
  Vector<Range> origins; ///< of each byte
};

} // namespace attn
