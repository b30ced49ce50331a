// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memfd_create(2): no name in any folder, and nothing on a disk.
#include "serve/MemoryFile.h"

#include <cstdio>
#include <sys/mman.h>
#include <unistd.h>

namespace attn {

MemoryFile::~MemoryFile() {
  if (descriptor >= 0)
    close(descriptor);
}

bool MemoryFile::open(Slice bytes) {
  descriptor = memfd_create("attn", MFD_CLOEXEC);
  if (descriptor < 0)
    return false;
  snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  while (bytes.size) {
    ssize_t count = write(descriptor, bytes.data, bytes.size);
    if (count <= 0)
      return false;
    bytes = bytes.from(size_t(count));
  }
  return true;
}

void MemoryFile::nameIn(char *message) const {
  static constexpr const char *words = "of the request";
  char quoted[48];
  snprintf(quoted, sizeof quoted, "`%s`", name);
  // The words are shorter than any path.
  while (char *found = message ? strstr(message, quoted) : nullptr) {
    memcpy(found, words, strlen(words));
    memmove(found + strlen(words), found + strlen(quoted), strlen(found + strlen(quoted)) + 1);
  }
}

} // namespace attn
