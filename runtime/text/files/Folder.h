// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of a folder that say what its tokenizer is: those of a disk, or those that a program
// carries, all in one.
#pragma once

#include "base/Error.h"
#include "base/Slice.h"

namespace attn {

/// A folder, which has to outlive this.
class TextFolder {
public:
  explicit TextFolder(const char *path) : path(path) {}
  /// The files in `bundle`, as `pack` has put them together.
  TextFolder(const char *name, Slice bundle) : path(name), bundle(bundle) {}

  /// Whether there is such a file.
  bool has(const char *file) const;
  /// Reads a file. Where it is not there, `bytes` become empty.
  attn_status read(const char *file, Vector<char> &bytes, Error &error) const;
  /// What errors call a file.
  Text nameOf(const char *file) const;
  /// Appends all of these files that are there, as one.
  attn_status pack(Vector<char> &bytes, Error &error) const;
  /// Whether bytes are what `pack` makes.
  static bool isBundle(Slice bytes);

private:
  /// Takes the next file of a bundle; false behind the last, or where it is damaged.
  static bool takeFile(Slice &rest, Slice &name, Slice &content);

  const char *path;
  Slice bundle;
};

} // namespace attn
