// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Letters to dots.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn::maps {

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

/// The letters of a UTF-8 text; U+FFFD for each byte that is none.
std::vector<char32_t> lettersOf(const std::string &text);

} // namespace attn::maps
