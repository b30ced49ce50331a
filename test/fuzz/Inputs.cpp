// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Targets.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace attn::fuzz {

void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "%s\n", what);
  abort();
}

MemoryFile::MemoryFile(const uint8_t *data, size_t size) : descriptor(memfd_create("input", 0)) {
  require(descriptor >= 0 && write(descriptor, data, size) == static_cast<ssize_t>(size),
          "cannot make a file in memory");
}

MemoryFile::~MemoryFile() { close(descriptor); }

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

} // namespace attn::fuzz
