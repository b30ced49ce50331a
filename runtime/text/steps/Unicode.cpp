// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From code points to properties: utf8proc's categories, and the few sets that are not in them.
#include "text/steps/Unicode.h"
#include "base/Utf8.h"
#include <utf8proc.h>

using namespace attn;

size_t attn::encodeUtf8(Char c, char *to) {
  return size_t(
      utf8proc_encode_char(utf8proc_int32_t(c), reinterpret_cast<utf8proc_uint8_t *>(to)));
}

Char attn::decodeBefore(const char *text, size_t end, size_t &length) {
  size_t begin = end - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80)
    --begin;
  return decodeUtf8(text + begin, length);
}

bool attn::isUtf8(Slice text) {
  for (size_t at = 0; at < text.size;) {
    size_t length = utf8Length(text.data + at, text.size - at);
    if (length == 0)
      return false;
    at += length;
  }
  return true;
}

static utf8proc_category_t categoryOf(Char c) { return utf8proc_category(utf8proc_int32_t(c)); }

bool attn::isSpace(Char c) {
  if (c < 0x80)
    return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool attn::isWord(Char c) {
  if (c < 0x80)
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  switch (categoryOf(c)) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL: // alphabetic, too
  case UTF8PROC_CATEGORY_PC:
    return true;
  case UTF8PROC_CATEGORY_SO: // circled letters are alphabetic
    return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
           (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
  default:
    return c == 0x200c || c == 0x200d;
  }
}

bool attn::isNumeric(Char c) {
  if (c < 0x80)
    return c >= '0' && c <= '9';
  utf8proc_category_t category = categoryOf(c);
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO;
}

bool attn::isMark(Char c) {
  if (c < 0x300)
    return false;
  utf8proc_category_t category = categoryOf(c);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

bool attn::isNonspacingMark(Char c) { return c >= 0x300 && categoryOf(c) == UTF8PROC_CATEGORY_MN; }

bool attn::isControl(Char c) {
  if (c < 0x80)
    return c < 0x20 || c == 0x7f;
  utf8proc_category_t category = categoryOf(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CS || category == UTF8PROC_CATEGORY_CO;
}

bool attn::isPunctuation(Char c) {
  if (c < 0x80)
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
           (c >= 123 && c <= 126);
  switch (categoryOf(c)) {
  case UTF8PROC_CATEGORY_PC:
  case UTF8PROC_CATEGORY_PD:
  case UTF8PROC_CATEGORY_PS:
  case UTF8PROC_CATEGORY_PE:
  case UTF8PROC_CATEGORY_PI:
  case UTF8PROC_CATEGORY_PF:
  case UTF8PROC_CATEGORY_PO:
    return true;
  default:
    return false;
  }
}

bool attn::isChinese(Char c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
         (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

unsigned attn::combiningClass(Char c) {
  if (c < 0x300)
    return 0;
  return unsigned(utf8proc_get_property(utf8proc_int32_t(c))->combining_class);
}

size_t attn::toLower(Char c, Char (&lower)[2]) {
  if (c == 0x130) { // I with a dot above: i, and the dot
    lower[0] = 'i';
    lower[1] = 0x307;
    return 2;
  }
  if (c < 0x80)
    lower[0] = c >= 'A' && c <= 'Z' ? c + 32 : c;
  else
    lower[0] = Char(utf8proc_tolower(utf8proc_int32_t(c)));
  return 1;
}

Char attn::toUpper(Char c) { return Char(utf8proc_toupper(utf8proc_int32_t(c))); }
