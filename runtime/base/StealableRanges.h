// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work stealing (Blumofe and Leiserson 1999) on ranges: a kernel's pieces lie in a range for each
// thread, from which the thread takes at the front, and threads that have no more at the back.
#pragma once

#include "base/Vector.h"

namespace attn {

/// The pieces of one kernel after the other, ATTN_PIECES for each thread of a team. Any thread may
/// find them not begun, so nobody has to be there to begin a kernel.
class StealableRanges {
public:
  /// For so many threads; false where memory is lacking.
  bool resize(int32_t threads);
  /// The pieces [from, to) that `thread` is to compute next, from << 32 | to; 0 where all of this
  /// kernel's are taken. The next call is about the next kernel then, before which all threads have
  /// to have come as far. A thread takes `least`, at least 1, of what is left in its range, or in
  /// another's; all of it where there is no other thread.
  int64_t claim(int64_t thread, int64_t least);

private:
  /// Of two threads, `word`s never share a cache line, nor two that are fetched together.
  struct Range {
    uint64_t word;   ///< atomic: the kernel's number, of 32 bits, and what is left, from and to
    uint32_t kernel; ///< that the thread is about
    char apart[116];
  };
  static_assert(sizeof(Range) == 128);
  /// The same out of the range of `owner`; 0 where nothing is left in it.
  int64_t take(int64_t owner, uint32_t kernel, uint64_t least, bool atBack);

  Vector<Range> ranges;
};

} // namespace attn
