// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of memory, and their bound.
#include "text/jinja/Memory.h"

using namespace attn;
using namespace attn::jinja;

Memory::~Memory() {
  for (char *block : blocks)
    free(block);
}

void *Memory::take(size_t bytes) {
  constexpr size_t blockBytes = size_t(1) << 14;
  if (bytes > mostBytes)
    return nullptr;
  bytes = (bytes + 7) & ~size_t(7);
  if (blocks.empty() || bytes > room - used) {
    size_t size = bytes > blockBytes ? bytes : blockBytes;
    if (size > mostBytes - total)
      return nullptr;
    auto *block = static_cast<char *>(calloc(size, 1));
    if (!block || !blocks.push(block)) {
      free(block);
      return nullptr;
    }
    total += size, used = 0, room = size;
  }
  void *taken = blocks.back() + used;
  used += bytes;
  return taken;
}

Slice Memory::copy(Slice bytes) {
  auto *copied = static_cast<char *>(take(bytes.size + 1));
  if (copied && bytes.size)
    memcpy(copied, bytes.data, bytes.size);
  return {copied, copied ? bytes.size : 0};
}

const char *Memory::problem() const {
  return steps > mostSteps ? "it takes more steps than templates may"
                           : "it takes more memory than there is, or than templates may";
}
