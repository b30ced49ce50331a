// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes of characters by their names.
#include "text/grammar/Regex.h"
#include <utf8proc.h>

using namespace attn;
using namespace attn::grammar;

/// A class of ECMA-262, and its ranges.
static const struct Class {
  unsigned char letter;
  CharacterRange range;
} classes[] = {{'d', {'0', '9'}},
               {'w', {'0', '9'}},
               {'w', {'A', 'Z'}},
               {'w', {'_', '_'}},
               {'w', {'a', 'z'}},
               // White space and ends of lines: categories Zs, TAB, VT, FF, BOM, LF, CR, LS, PS.
               {'s', {0x9, 0xd}},
               {'s', {0x20, 0x20}},
               {'s', {0xa0, 0xa0}},
               {'s', {0x1680, 0x1680}},
               {'s', {0x2000, 0x200a}},
               {'s', {0x2028, 0x2029}},
               {'s', {0x202f, 0x202f}},
               {'s', {0x205f, 0x205f}},
               {'s', {0x3000, 0x3000}},
               {'s', {0xfeff, 0xfeff}}};

bool grammar::addClass(unsigned char letter, Vector<CharacterRange> &ranges) {
  bool isUpper = letter < 'a', isKnown = false;
  auto lower = static_cast<unsigned char>(letter | 0x20);
  Vector<CharacterRange> found;
  for (const Class &one : classes)
    if (one.letter == lower) {
      isKnown = true;
      if (!found.push(one.range))
        return false;
    }
  if (isUpper && isKnown && !invertRanges(found))
    return false;
  return isKnown && ranges.append(found.data(), found.size());
}

bool grammar::addCategory(Slice name, Vector<CharacterRange> &ranges) {
  bool isKnown = false;
  uint32_t begin = 0;
  bool isOpen = false;
  for (uint32_t c = 0; c <= lastCharacter + 1; ++c) {
    const char *category = c <= lastCharacter ? utf8proc_category_string(utf8proc_int32_t(c)) : "";
    bool is = name.size && name.size <= 2 && strncmp(category, name.data, name.size) == 0;
    isKnown = isKnown || is;
    if (is && !isOpen)
      begin = c;
    if (!is && isOpen && !ranges.push({begin, c - 1}))
      return false;
    isOpen = is;
  }
  return isKnown;
}
