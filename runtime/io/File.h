// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that are read in parts or as a whole, and files that appear whole or not at all.
#pragma once

#include "base/Error.h"

namespace attn {

/// What tells a file from others, and from itself before it was changed. Times are nanoseconds.
struct FileIdentity {
  uint64_t device, inode, size;
  uint64_t changed; ///< ctime, which no program sets
  uint64_t written; ///< mtime, which programs set as they like

  /// Whether a change at the time `now` would give it another `changed`.
  bool isOlderThan(uint64_t now) const;
};

/// A regular file that is read in parts. It is not mapped: another process may truncate it at any
/// time, which is an error of `read`, where a map would end the process.
class SourceFile {
public:
  SourceFile() = default;
  SourceFile(const SourceFile &) = delete;
  SourceFile &operator=(const SourceFile &) = delete;
  ~SourceFile();

  /// Opens a regular file; an error that names it where it cannot be opened or is none.
  attn_status open(const char *path, Error &error);
  /// Fills `to` with `size` bytes from `offset` on; false where the file cannot be read or has
  /// become shorter. Any thread may call it.
  bool read(uint64_t offset, size_t size, void *to) const;
  /// Has the system read these bytes from the disk into its memory meanwhile.
  void readAhead(uint64_t offset, uint64_t size) const;
  /// The error of a failed `read`.
  attn_status cannotRead(Error &error) const;
  /// An error where the file has been changed since it was opened.
  attn_status checkUnchanged(Error &error) const;
  uint64_t size() const { return whose.size; }
  const FileIdentity &identity() const { return whose; }
  /// Whether a change behind its opening shows in its identity: not where it had been changed just
  /// before.
  bool hasSettled() const { return isSettled; }

private:
  char *name = nullptr;
  int descriptor = -1;
  FileIdentity whose = {};
  bool isSettled = false;
};

/// Takes the numbers of standard input, output and error where they are closed, so that no file
/// that is opened later gets one of them. Reading and writing them stays an error.
void reserveStandardFiles();

/// Reads a file, a pipe or a device to its end; "-" is standard input. ATTN_IO where it cannot be
/// read, is of another kind or has more than `limit` bytes, of which no more are read.
attn_status readFile(const char *path, size_t limit, Vector<char> &bytes, Error &error);

/// The name that a path has behind symbolic links, also where there is no such file yet; for free.
/// Null where memory is lacking.
char *finalName(const char *path);

/// Whether a path is written in place: a device, a pipe, or a name in /proc of a file that is open.
/// A rename would take its name away.
bool isWrittenInPlace(const char *path);

/// Writes a file so that it appears whole or not at all: to a temporary name beside it, renamed at
/// the end. "-" is standard output. Where the path is a link, the file that it leads to is
/// replaced; one that is there keeps its permissions.
class OutputFile {
public:
  OutputFile() = default;
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  /// Removes the temporary file where `commit` has not been reached.
  ~OutputFile();

  /// Begins a file that will be called `path`.
  attn_status open(const char *path, Error &error);
  /// Appends bytes.
  attn_status write(const void *data, size_t size, Error &error);
  /// Flushes, closes and renames; reports a full disk.
  attn_status commit(Error &error);

private:
  /// The error of a call of the system that failed: "cannot `what` PATH: ...".
  attn_status fail(const char *what, Error &error);
  char *path = nullptr, *temporary = nullptr;
  int descriptor = -1;
};

} // namespace attn
