// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what went wrong to the message that the C API hands over, and the names of statuses.
#include "base/Error.h"
#include <cstdarg>
#include <cstdio>

using namespace attn;

attn_status Error::set(attn_status newStatus, const char *code, const char *format, ...) {
  status = newStatus;
  text.clear();
  text.append("error[%s]: ", code);
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text.appendQuoted(line, strlen(line)); // names and texts of files may be hostile
  return status;
}

void Error::note(const char *format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text.append("\n   = note: ");
  text.appendQuoted(line, strlen(line));
}

void Error::help(const char *format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text.append("\n   = help: ");
  text.appendQuoted(line, strlen(line));
}

attn_status Error::take(attn_status from, const char *message) {
  text.append("%s", message ? message : "error[R0401]: no memory");
  return status = from;
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
  case ATTN_INTERNAL:
    return "internal error";
  }
  return "unknown status";
}
