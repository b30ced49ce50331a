// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of a request as a file that the readers of pictures and sounds open.
#pragma once

#include "base/Slice.h"

namespace attn {

/// A file in memory, as long as this lives.
class MemoryFile {
public:
  MemoryFile() = default;
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile();
  /// Holds the bytes; false where the system does not.
  bool open(Slice bytes);
  /// Says `of the request` where a message has the path, in quotes.
  void nameIn(char *message) const;
  const char *path() const { return name; } ///< of it, in this process alone

private:
  int descriptor = -1;
  char name[40] = "";
};

} // namespace attn
