// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of replaced characters that SentencePiece compiles into a model.
#pragma once

#include "base/Slice.h"

namespace attn {

/// A double-array trie (darts-clone) of strings, whose values are places in a blob of strings that
/// end with NUL. The bytes belong to someone else.
class Charsmap {
public:
  /// Takes a table as it stands in files: the trie's size in bytes as 32 bits, the trie, the blob.
  /// False where the sizes cannot be or the blob is not UTF-8.
  bool open(Slice bytes);
  bool empty() const { return units == 0; }
  /// What the longest, or the shortest, beginning of `text` that is in the table is replaced by,
  /// and its length; false where there is none.
  bool find(Slice text, bool isLongest, Slice &replacement, size_t &length) const;

private:
  /// A unit of the trie, 0 behind its end.
  uint32_t unit(size_t index) const;

  const char *trie = nullptr;
  size_t units = 0;
  Slice blob;
};

/// Decodes base64 with its padding; false where it is none, or memory is lacking.
bool decodeBase64(Slice text, Vector<char> &bytes);

} // namespace attn
