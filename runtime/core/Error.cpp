// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/Error.h"
#include "core/Utf8.h"
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

attn_status Error::set(attn_status newStatus, const char *code, const char *format, ...) {
  status = newStatus;
  text.clear();
  text.append("error[%s]: ", code);
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text.append("%s", line);
  return status;
}

void Error::note(const char *format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text.append("\n   = note: %s", line);
}

void Error::help(const char *format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text.append("\n   = help: %s", line);
}

attn_status Error::outOfMemory(const char *what) {
  return set(ATTN_OUT_OF_MEMORY, "R0401", "no memory for %s", what);
}

attn_status Error::report(char **message) {
  if (message)
    *message = status == ATTN_OK ? nullptr : text.release();
  return status;
}

extern "C" void attn_message_free(char *message) { free(message); }

extern "C" const char *attn_status_name(attn_status status) {
  switch (status) {
  case ATTN_OK:
    return "ok";
  case ATTN_INVALID_ARGUMENT:
    return "invalid argument";
  case ATTN_BAD_WEIGHTS:
    return "bad weights";
  case ATTN_BAD_INPUT:
    return "bad input";
  case ATTN_IO:
    return "input or output failed";
  case ATTN_UNSUPPORTED_CPU:
    return "unsupported CPU";
  case ATTN_OUT_OF_MEMORY:
    return "out of memory";
  case ATTN_NOT_FOUND:
    return "not found";
  case ATTN_NO_DEVICE:
    return "no device";
  }
  return "unknown status";
}
