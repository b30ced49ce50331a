// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The length of a character of UTF-8, by the rules of RFC 3629, and of what is none.
#pragma once

#include <cstddef>
#include <cstring>

namespace attn {

/// Bytes of the UTF-8 character at `text`, 0 where there is none (RFC 3629: no overlong forms, no
/// surrogates, nothing above U+10FFFF).
inline size_t utf8Length(const char *text, size_t size) {
  auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  auto follows = [&](size_t i) { return i < size && (at(i) & 0xc0) == 0x80; };
  if (size == 0)
    return 0;
  unsigned first = at(0);
  if (first < 0x80)
    return 1;
  if (first >= 0xc2 && first <= 0xdf)
    return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if (!follows(1) || !follows(2) || (first == 0xe0 && at(1) < 0xa0) ||
        (first == 0xed && at(1) > 0x9f))
      return 0;
    return 3;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if (!follows(1) || !follows(2) || !follows(3) || (first == 0xf0 && at(1) < 0x90) ||
        (first == 0xf4 && at(1) > 0x8f))
      return 0;
    return 4;
  }
  return 0;
}

/// Bytes at `text`, which begin no valid character, that one U+FFFD stands for: the longest
/// beginning of a character, at least 1 (Unicode 15, section 3.9, U+FFFD substitution of maximal
/// subparts).
inline size_t invalidLength(const char *text, size_t size) {
  unsigned first = static_cast<unsigned char>(text[0]);
  size_t whole = first >= 0xf0 && first <= 0xf4   ? 4
                 : first >= 0xe0 && first <= 0xef ? 3
                 : first >= 0xc2 && first <= 0xdf ? 2
                                                  : 1;
  // A beginning is valid where some character continues it: the least one or the greatest.
  size_t longest = 1;
  for (size_t known = 2; known < whole && known <= size; ++known) {
    char least[4], greatest[4];
    memcpy(least, text, known);
    memcpy(greatest, text, known);
    memset(least + known, '\x80', 4 - known);
    memset(greatest + known, '\xbf', 4 - known);
    if (!utf8Length(least, whole) && !utf8Length(greatest, whole))
      break;
    longest = known;
  }
  return longest;
}

} // namespace attn
