// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Letters to dots.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attn {

/// A letter as dots: two rows for accents of capitals, seven above the base line, two below.
struct Glyph {
  static constexpr int rows = 11, above = 2, columns = 5;
  uint8_t dots[rows] = {}; ///< bit c: column c
  int first = 0, last = 2; ///< the columns that it fills; a space has three

  /// Whether a dot is ink; none outside of the glyph is.
  bool isSet(int row, int column) const {
    return row >= 0 && row < rows && column >= 0 && column < columns && (dots[row] >> column & 1);
  }
};

/// ASCII and the accented letters of Europe's languages; a box for all else.
Glyph glyphOf(char32_t letter);

/// Takes the first letter of a UTF-8 text that is not empty; U+FFFD for a byte that begins none.
char32_t takeLetter(const char *&text, size_t &size);

} // namespace attn
