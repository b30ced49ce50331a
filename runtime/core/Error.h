// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text and errors. A function that can fail takes an Error& and returns a status; the message is
// put together only on failure and handed to the caller of the C API.
#ifndef ATTN_CORE_ERROR_H
#define ATTN_CORE_ERROR_H
#include "attn/attn.h"
#include "core/Vector.h"

namespace attn {

/// Text under construction. Once memory is lacking it stays as it is (`failed`).
class Text {
public:
  /// Appends as printf does.
  void append(const char *format, ...) __attribute__((format(printf, 2, 3)));
  /// Appends `size` bytes; control characters and invalid UTF-8 become "\xNN", so that a hostile
  /// file cannot write to a terminal.
  void appendQuoted(const char *bytes, size_t size);
  /// Appends "[2304, 768]".
  void appendShape(const int64_t *shape, int32_t rank);
  const char *c_str() const { return bytes.empty() ? "" : bytes.data(); }
  size_t size() const { return bytes.empty() ? 0 : bytes.size() - 1; }
  bool failed() const { return isFailed; }
  /// Gives the text away; null where memory was lacking.
  char *release();
  void clear() { bytes.clear(); }

private:
  Vector<char> bytes; // with its NUL where not empty
  bool isFailed = false;
};

/// What went wrong. Codes: see runtime/README.md.
class Error {
public:
  attn_status status = ATTN_OK;
  Text text;

  /// Starts the message "error[CODE]: ..." and returns `status`, for `return error.set(...)`.
  attn_status set(attn_status status, const char *code, const char *format, ...)
      __attribute__((format(printf, 4, 5)));
  /// Appends "\n   = note: ...".
  void note(const char *format, ...) __attribute__((format(printf, 2, 3)));
  /// Appends "\n   = help: ...".
  void help(const char *format, ...) __attribute__((format(printf, 2, 3)));
  attn_status outOfMemory(const char *what);
  /// Ends a function of the C API: hands the message over and returns the status.
  attn_status report(char **message);
};

} // namespace attn
#endif
