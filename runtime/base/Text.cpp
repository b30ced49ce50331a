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

void Text::appendQuoted(const char *text, size_t size) {
  for (size_t i = 0; i < size;) {
    size_t length = utf8Length(text + i, size - i);
    unsigned char first = static_cast<unsigned char>(text[i]);
    if (length == 0 || first < 0x20 || first == 0x7f) {
      append("\\x%02x", first);
      i += 1;
    } else {
      append("%.*s", int(length), text + i);
      i += length;
    }
  }
}

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
