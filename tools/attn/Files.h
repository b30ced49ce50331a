// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files in and out. `-` is standard input or standard output.
#pragma once

#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace attn::tool {

/// The bytes of a file; null after an error has been printed (exit code 4).
std::unique_ptr<llvm::MemoryBuffer> readInput(llvm::StringRef path);

/// Writes a file so that it appears whole or not at all: under a temporary name beside it, renamed
/// at the end. Returns 0, or prints an error and returns 4.
int writeOutput(llvm::StringRef path, llvm::StringRef bytes, bool isExecutable = false);

} // namespace attn::tool
