// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ATTN_IO_FILE_H
#define ATTN_IO_FILE_H
#include "core/Error.h"

namespace attn {

/// What tells a file from others, and from itself before it was changed.
struct FileIdentity {
  uint64_t device, inode, size, seconds, nanoseconds; ///< the time is that of the last change
};

/// A regular file mapped for reading. Code that reads it must not run while another process
/// truncates the file.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  attn_status open(const char *path, Error &error);
  const char *data() const { return bytes; }
  size_t size() const { return length; }
  const FileIdentity &identity() const { return whose; }

private:
  const char *bytes = nullptr;
  size_t length = 0;
  FileIdentity whose = {};
};

/// Tells the kernel that the whole pages inside [begin, end) of a file map are not needed in this
/// process for now; reading them again brings them back.
void dropMappedPages(const void *begin, const void *end);

/// Reads a file to its end; "-" is standard input. ATTN_IO where it cannot be read or has more than
/// `limit` bytes.
attn_status readFile(const char *path, size_t limit, Vector<char> &bytes, Error &error);

/// Writes a file so that it appears whole or not at all: to a temporary name beside it, renamed at
/// the end. "-" is standard output.
class OutputFile {
public:
  OutputFile() = default;
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  /// Removes the temporary file where `commit` has not been reached.
  ~OutputFile();

  attn_status open(const char *path, Error &error);
  attn_status write(const void *data, size_t size, Error &error);
  /// Flushes, closes and renames; reports a full disk.
  attn_status commit(Error &error);

private:
  attn_status fail(const char *what, Error &error);
  char *path = nullptr, *temporary = nullptr;
  int descriptor = -1;
};

} // namespace attn
#endif
