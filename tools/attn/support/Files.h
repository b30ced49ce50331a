// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files in and out. `-` is standard input or standard output.
#pragma once

#include "main/ReadFiles.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace attn::tool {

/// Of what people write: specs, which say themselves where they are too long, and other texts.
constexpr size_t mostOfText = size_t(1) << 26;
/// The bytes of a file or a pipe of at most `most` bytes; null after an error has been printed
/// (exit code 4).
std::unique_ptr<llvm::MemoryBuffer> readInput(llvm::StringRef path, size_t most = mostOfText);
/// Of a file that has to fit into memory: what this machine has.
size_t mostOfMemory();

/// Notes a file that is read later, if it is there.
void noteInput(llvm::StringRef path);
/// An error (exit code 2) where an output would take the place of a file that was read, or of one
/// of the outputs before it.
int checkOutputs(llvm::ArrayRef<attn::NamedOutput> outputs);

/// Writes a file so that it appears whole or not at all: under a temporary name beside it, renamed
/// at the end. A link is followed; a file that is there keeps its permissions, but none that was
/// read is replaced. Returns 0, or prints an error and returns 2 or 4.
int writeOutput(llvm::StringRef path, llvm::StringRef bytes, bool isExecutable = false);
/// The same for a file that is read to be written anew.
int rewriteInput(llvm::StringRef path, llvm::StringRef bytes);

/// Writes which files have been read for `output`, as a rule of make. Returns 0, or an exit code
/// after an error.
int writeDepfile(llvm::StringRef path, llvm::StringRef output);

/// "512 B", "12.3 kB", "46.3 MB"
std::string sizeText(uint64_t bytes);

} // namespace attn::tool
