// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one rule of all outputs: none takes the place of a file that the command reads, or of another
// output. Files are told by device and inode, so that links and other spellings are the same file.
#pragma once

#include "base/Error.h"
#include <pthread.h>

struct stat; // NOLINT(readability-identifier-naming): the name is the system's

namespace attn {

/// A list of the files that a command has read.
class ReadFiles {
public:
  ReadFiles() = default;
  ReadFiles(const ReadFiles &) = delete;
  ReadFiles &operator=(const ReadFiles &) = delete;

  /// Empties the list, whose memory nothing else frees.
  void clear();

  /// Has what this thread reads, and what is asked below, be of `files`; null: of the program.
  static void use(ReadFiles *files);

  /// Adds a regular file; other threads may do so, too.
  void add(const char *path, const struct stat &info);
  /// Whether a file is among them.
  bool has(const struct stat &info);
  /// As visitReadFiles.
  void visit(void (*visit)(const char *path, void *user), void *user) const;

private:
  struct Place; // what a name of a file system leads to
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Place *places = nullptr;
  size_t count = 0, capacity = 0;
};

/// Whether the command has read the file that a path leads to. Everything that is read through
/// io/File.h is known; other readers say it by attn_main_note_file.
bool isReadFile(const char *path);

/// Calls `visit` with the path of each regular file that the command has read, as it was opened, in
/// that order: one that was read twice comes twice. What was read without memory for its path is
/// left out.
void visitReadFiles(void (*visit)(const char *path, void *user), void *user);

/// An output that is named on the command line: `--output scores=FILE`.
struct NamedOutput {
  const char *option; ///< "--output"
  const char *path;   ///< "-" is standard output, which any number of outputs may go to
};

/// U0005 where an output leads to a file that was read so far, or to that of an output before it.
/// Devices and pipes take any number.
attn_status checkOutputs(const NamedOutput *outputs, size_t count, Error &error);

} // namespace attn

/// Notes a regular file as read by this command. io/File.h refers to it weakly: a program that does
/// without attn_main keeps no list.
extern "C" void attn_main_note_file(const char *path, const struct stat *info);
