// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading files of which nothing is known: pipes, devices and folders, endless ones.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

struct stat; // NOLINT(readability-identifier-naming): the name is the system's

namespace attn {

/// The most bytes of a text that people write: a spec, a config.json, a list of labels.
constexpr size_t largestText = size_t(1) << 24;

/// The bytes of a regular file, a pipe that somebody writes to, or a device. The error says what
/// the system said, or that the file is of another kind or has more than `most` bytes, of which no
/// more are read. It does not name the file. A given file (giveInputFiles) comes first.
llvm::Expected<std::string> readInputFile(llvm::StringRef path, size_t most);
/// The same of standard input, of whatever kind it is.
llvm::Expected<std::string> readStandardInput(size_t most);

/// Texts that stand for the files of their names, whatever is on the disk; they stay the caller's.
using GivenFiles = llvm::StringMap<llvm::StringRef>;
/// Has this thread read `files` from now on; null: those of the disk alone.
void giveInputFiles(const GivenFiles *files);
/// What this thread is given for a file; nothing where that is on the disk. `./a.attn` is `a.attn`.
std::optional<llvm::StringRef> givenFile(llvm::StringRef path);

/// Is told of each file that is read, by the path that it was opened by.
using InputFileObserver = void (*)(const char *path, const struct stat *info);
/// Has `observer` told of files from now on; the program's one place for what it has read.
void observeInputFiles(InputFileObserver observer);

} // namespace attn
