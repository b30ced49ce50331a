// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lines of a file that may be larger than memory: counted once, then read some at a time.
#pragma once

#include "base/Slice.h"
#include "io/File.h"

namespace attn {

/// A file of lines. What is no regular file, a pipe or "-", is kept in memory.
class LineFile {
public:
  /// Opens a file and counts its lines. The last one may lack its newline.
  attn_status open(const char *path, Error &error);
  int64_t lines() const { return count; }
  /// Lets `read` go on with a line, from 0 on, of those that there are.
  void seek(int64_t line);
  /// Reads the next `wanted` lines, which are there. `lines` point into `bytes`, without their
  /// ends.
  attn_status read(int64_t wanted, Vector<char> &bytes, Vector<Slice> &lines, Error &error);
  /// An error where the file has been changed since it was opened.
  attn_status checkUnchanged(Error &error) const;

private:
  /// All bytes.
  uint64_t size() const { return isInMemory ? memory.size() : file.size(); }
  /// Appends what comes from `offset` on, a piece of bounded size.
  attn_status append(uint64_t offset, Vector<char> &bytes, Error &error) const;

  SourceFile file;
  Vector<char> memory;
  bool isInMemory = false;
  int64_t count = 0;
  Vector<uint64_t> marks; ///< where every so many lines begin
  uint64_t position = 0;  ///< of what is read next
  int64_t skipped = 0;    ///< lines from there on that are passed over
};

} // namespace attn
