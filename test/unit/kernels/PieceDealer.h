// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pieces of a kernel for a team whose threads run one after the other, as they might claim them if
// they were fast and slow by turns.
#pragma once

#include "attn/abi.h"
#include <algorithm>
#include <random>

namespace attn::test {

/// attn_abi_call.team of kernels under test.
class PieceDealer {
public:
  /// `anyPieces`: of a function with one kernel, threads get any pieces, in any order; else each
  /// gets its own, since a kernel may read what the same thread has computed before.
  PieceDealer(int64_t threads, bool anyPieces)
      : threads(threads), anyPieces(anyPieces), to(threads * ATTN_PIECES) {}

  /// attn_abi_call.claim.
  static int64_t claim(void *dealer, int64_t thread, int64_t) {
    return static_cast<PieceDealer *>(dealer)->deal(thread);
  }

private:
  static int64_t word(int64_t from, int64_t to) { return from << 32 | to; }
  int64_t below(int64_t count) { return int64_t(random() % uint64_t(count)); }

  int64_t deal(int64_t thread) {
    if (!anyPieces) {
      hasOwn = !hasOwn;
      return hasOwn ? word(thread * ATTN_PIECES, (thread + 1) * ATTN_PIECES) : 0;
    }
    bool isLast = thread == threads - 1;
    if (from == to || (!isLast && below(4) == 0))
      return 0;
    int64_t taken = std::min(to - from, 1 + below(ATTN_PIECES));
    if (below(2) == 0)
      return from += taken, word(from - taken, from);
    return to -= taken, word(to, to + taken);
  }

  int64_t threads;
  bool anyPieces, hasOwn = false;
  int64_t from = 0, to;
  std::minstd_rand random;
};

} // namespace attn::test
