// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pieces of kernels, taken by compare and exchange. What they compute is published by the barrier
// behind a kernel, so that the order of memory does not matter here.
#include "base/StealableRanges.h"
#include "attn/abi.h"

using namespace attn;

bool StealableRanges::resize(int32_t threads) {
  if (!ranges.resize(size_t(threads)))
    return false;
  for (Range &range : ranges)
    range.word = 0, range.kernel = 1; // what is left is of no kernel yet
  return true;
}

int64_t StealableRanges::claim(int64_t thread, int64_t least) {
  auto most = uint64_t(least < 1 ? 1 : least);
  Range &own = ranges[size_t(thread)];
  if (int64_t pieces = take(thread, own.kernel, most, /*atBack=*/false))
    return pieces;
  for (size_t i = 1; i < ranges.size(); ++i)
    if (int64_t pieces =
            take(int64_t((size_t(thread) + i) % ranges.size()), own.kernel, most, /*atBack=*/true))
      return pieces;
  ++own.kernel;
  return 0;
}

int64_t StealableRanges::take(int64_t owner, uint32_t kernel, uint64_t least, bool atBack) {
  uint64_t *place = &ranges[size_t(owner)].word;
  uint64_t word = __atomic_load_n(place, __ATOMIC_RELAXED);
  for (;;) {
    uint64_t from = word >> 16 & 0xffff, to = word & 0xffff;
    if (word >> 32 != kernel) // nobody has taken any yet
      from = uint64_t(owner) * ATTN_PIECES, to = from + ATTN_PIECES;
    if (from == to)
      return 0;
    uint64_t taken = ranges.size() == 1 || least > to - from ? to - from : least;
    uint64_t first = atBack ? to - taken : from, end = first + taken;
    uint64_t left = atBack ? from << 16 | first : end << 16 | to;
    if (__atomic_compare_exchange_n(place, &word, uint64_t(kernel) << 32 | left, /*weak=*/true,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return int64_t(first << 32 | end);
  }
}
