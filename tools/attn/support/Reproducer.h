// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal errors: what a person can send when the compiler itself is wrong.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace attn::tool {

/// The command line, without the program's name; kept for a reproducer.
void rememberCommand(llvm::ArrayRef<const char *> arguments);
/// The spec being compiled, its file as the command line names it.
void rememberSpec(llvm::StringRef path, llvm::StringRef text);

/// Writes the spec to a new folder, prints where and the command that runs it, returns 70.
int internalError();

} // namespace attn::tool
