// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strings are copied into blocks of 16 KB, or into one of their own where they are longer; blocks
// only go when the arena does.
#include "base/Arena.h"

using namespace attn;

Arena::~Arena() {
  for (char *block : blocks)
    free(block);
}

char *Arena::copy(const char *bytes, size_t size) {
  if (room - used <= size) {
    size_t wanted = size + 1 > 16384 ? size + 1 : 16384;
    char *block = static_cast<char *>(malloc(wanted));
    if (!block || !blocks.push(block)) {
      free(block);
      return nullptr;
    }
    used = 0;
    room = wanted;
  }
  char *at = blocks.back() + used;
  if (size)
    memcpy(at, bytes, size);
  at[size] = 0;
  used += size + 1;
  return at;
}
