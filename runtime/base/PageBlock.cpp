// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages from mmap, at boundaries of large pages.
#include "base/PageBlock.h"
#include <sys/mman.h>

using namespace attn;

static constexpr uint64_t largePage = 2 << 20;

bool PageBlock::allocate(uint64_t wanted, Pages pages) {
  reset();
  uint64_t page = wanted >= largePage && pages == Pages::Large ? largePage : 4096;
  if (wanted > UINT64_MAX / 2)
    return false;
  uint64_t rounded = (wanted + page - 1) / page * page;
  if (rounded == 0)
    rounded = page;
  uint64_t reserve = page == largePage ? rounded + largePage : rounded;
  void *memory = mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  map = memory;
  mapLength = reserve;
  bytes = static_cast<char *>(memory) + (page - uintptr_t(memory) % page) % page;
  length = rounded;
  // A wish: pages of the other size do as well.
  madvise(bytes, length, page == largePage ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return true;
}

void PageBlock::reset() {
  if (map)
    munmap(map, mapLength);
  map = nullptr;
  bytes = nullptr;
  mapLength = length = 0;
}

void PageBlock::swap(PageBlock &other) {
  void *otherMap = other.map;
  uint64_t otherMapLength = other.mapLength, otherLength = other.length;
  char *otherBytes = other.bytes;
  other.map = map, other.mapLength = mapLength, other.bytes = bytes, other.length = length;
  map = otherMap, mapLength = otherMapLength, bytes = otherBytes, length = otherLength;
}
