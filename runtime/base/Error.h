// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors. A function that can fail takes an Error& and returns a status; the message is put
// together only on failure and handed to the caller of the C API.
#pragma once

#include "attn/attn.h"
#include "base/Text.h"

namespace attn {

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
  /// Becomes what a function of the C API has said.
  attn_status take(attn_status from, const char *message);
  /// Ends a function of the C API: hands the message over and returns the status.
  attn_status report(char **message);
};

} // namespace attn
