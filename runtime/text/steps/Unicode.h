// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Characters of valid UTF-8 and what they are, by utf8proc's tables.
#pragma once

#include "base/Slice.h"

namespace attn {

/// A code point of Unicode.
using Char = uint32_t;

/// The character at `text`, which has to be valid UTF-8, and its number of bytes.
inline Char decodeUtf8(const char *text, size_t &length) {
  auto at = [&](size_t i) { return Char(static_cast<unsigned char>(text[i])); };
  Char first = at(0);
  if (first < 0x80) {
    length = 1;
    return first;
  }
  if (first < 0xe0) {
    length = 2;
    return (first & 31) << 6 | (at(1) & 63);
  }
  if (first < 0xf0) {
    length = 3;
    return (first & 15) << 12 | (at(1) & 63) << 6 | (at(2) & 63);
  }
  length = 4;
  return (first & 7) << 18 | (at(1) & 63) << 12 | (at(2) & 63) << 6 | (at(3) & 63);
}

/// Writes a character as 1 to 4 bytes, and returns how many.
size_t encodeUtf8(Char c, char *to);

/// The character that ends before `end`, in valid UTF-8 of which it is not the beginning.
Char decodeBefore(const char *text, size_t end, size_t &length);

/// Whether all bytes are valid UTF-8.
bool isUtf8(Slice text);

/// Properties. `isSpace` is White_Space; `isWord` what \w matches: letters, marks, decimal digits,
/// connecting punctuation, joiners.
bool isSpace(Char c);
bool isWord(Char c);
bool isNumeric(Char c);        ///< categories N*
bool isMark(Char c);           ///< categories M*
bool isNonspacingMark(Char c); ///< category Mn
bool isControl(Char c);        ///< categories C* but those of characters not assigned
bool isPunctuation(Char c);    ///< categories P*, and all of ASCII's that is no letter or digit
bool isChinese(Char c);        ///< the ideographs that BERT puts spaces around
unsigned combiningClass(Char c);

/// The lower case of a character: one, or three bytes more for U+0130. Returns the count.
size_t toLower(Char c, Char (&lower)[2]);
/// The upper case of a character where that is one, else itself.
Char toUpper(Char c);

} // namespace attn
