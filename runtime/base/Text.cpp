// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// printf into a growing array; bytes that could harm a terminal are written as "\xNN".
#include "base/Text.h"
#include "base/Utf8.h"
#include <cstdarg>
#include <cstdio>

using namespace attn;

static bool appendFormatted(Vector<char> &bytes, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(nullptr, 0, format, arguments);
  size_t start = bytes.empty() ? 0 : bytes.size() - 1;
  size_t wanted = start + size_t(length) + 1;
  bool isGood = length >= 0 && bytes.reserve(wanted + wanted / 2) && bytes.resize(wanted);
  if (isGood)
    vsnprintf(bytes.data() + start, size_t(length) + 1, format, again);
  va_end(again);
  return isGood;
}

void Text::append(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  isFailed |= !appendFormatted(bytes, format, arguments);
  va_end(arguments);
}

/// Whether a character of so many bytes (0: none) does what a reader does not see: C0 and C1 (which
/// terminals obey in UTF-8, too), U+202A to U+202E and U+2066 to U+2069 (the direction).
static bool isControl(const char *text, size_t length) {
  auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length <= 1)
    return length == 0 || at(0) < 0x20 || at(0) == 0x7f;
  if (length == 2)
    return at(0) == 0xc2 && at(1) < 0xa0;
  return length == 3 && at(0) == 0xe2 &&
         ((at(1) == 0x80 && at(2) >= 0xaa && at(2) <= 0xae) ||
          (at(1) == 0x81 && at(2) >= 0xa6 && at(2) <= 0xa9));
}

void Text::appendShown(const char *text, size_t size, bool isOfLines) {
  for (size_t i = 0; i < size;) {
    size_t length = utf8Length(text + i, size - i);
    bool isKept = isOfLines && (text[i] == '\n' || text[i] == '\t');
    if (!isKept && isControl(text + i, length))
      for (size_t end = i + (length ? length : 1); i < end; ++i)
        append("\\x%02x", static_cast<unsigned char>(text[i]));
    else
      append("%.*s", int(length), text + i), i += length;
  }
}

void Text::appendQuoted(const char *text, size_t size) { appendShown(text, size, false); }

void Text::appendLines(const char *text, size_t size) { appendShown(text, size, true); }

void Text::appendShape(const int64_t *shape, int32_t rank) {
  append("[");
  for (int32_t a = 0; a < rank; ++a)
    append(a ? ", %lld" : "%lld", static_cast<long long>(shape[a]));
  append("]");
}

char *Text::release() {
  if (isFailed || bytes.empty())
    return nullptr;
  char *copy = static_cast<char *>(malloc(bytes.size()));
  if (copy)
    memcpy(copy, bytes.data(), bytes.size());
  return copy;
}
