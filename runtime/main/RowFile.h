// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file of rows that takes hours: they go to FILE.part as they come, which becomes FILE at the end
// and is gone on with after what has ended a run before.
#pragma once

#include "base/Error.h"

struct stat; // NOLINT(readability-identifier-naming): the name is the system's

namespace attn {

/// Rows of bytes: all of `width` bytes, or, where that is 0, lines.
class RowFile {
public:
  RowFile() = default;
  RowFile(const RowFile &) = delete;
  RowFile &operator=(const RowFile &) = delete;
  /// What is written stays as FILE.part, unless it is no row.
  ~RowFile();

  /// Begins the file that will be called `path`, which no other run writes meanwhile, with `head`
  /// before its rows; where `resumes`, behind the whole rows of a FILE.part that begins with the
  /// same head.
  attn_status open(const char *path, const Text &head, size_t width, bool resumes, Error &error);
  /// The rows that are there.
  int64_t rows() const { return count; }
  /// Keeps the first `rows` rows of those that a run before has left.
  attn_status cut(int64_t rows, Error &error);
  /// Reads the last row that a run before has left.
  attn_status readLast(Vector<char> &row, Error &error) const;
  /// Appends some rows.
  attn_status append(const char *bytes, size_t size, int64_t rows, Error &error);
  /// Gives the file its name.
  attn_status commit(Error &error);
  /// FILE.part.
  const char *part() const { return partPath.c_str(); }

private:
  /// The error of a call of the system: "cannot `what` FILE.part: ...".
  attn_status fail(const char *what, Error &error) const;
  /// An error where another run has the file open; else what the file is.
  attn_status lock(struct stat &info, Error &error);
  /// Finds the whole rows behind the head, at most so many.
  attn_status findRows(int64_t most, Error &error);
  /// An error where the file begins with something else.
  attn_status checkHead(const Text &head, Error &error) const;

  char *path = nullptr;
  Text partPath;
  int descriptor = -1;
  size_t head = 0, width = 0; ///< bytes before the rows, and of one
  int64_t count = 0;
  int64_t lastBegin = 0, end = 0; ///< of the last row, and of all
};

} // namespace attn
