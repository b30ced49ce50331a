// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime says went wrong, printed as the runtime's own command line would, and its exit
// codes.
#pragma once

#include "Report.h"
#include "attn/attn.h"
#include "main/Command.h"

namespace attn::tool {

/// Prints and frees the message of a call that failed, and returns the exit code of its status.
inline int failWithStatus(attn_status status, char *message) {
  int code = failWithMessage(ExitCode(attn::exitCode(status)), message ? message : "");
  attn_message_free(message);
  return code;
}

/// The same for an error that the runtime's inner functions return.
inline int failWithError(const attn::Error &error) {
  return failWithMessage(ExitCode(attn::exitCode(error.status)), error.text.c_str());
}

} // namespace attn::tool
