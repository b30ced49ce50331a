// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which the blocks of a launch, which stay on their multiprocessors, take rows of
// queries under a mask such as the causal one, where the last rows of a head take longest.
//
// Units are numbered by falling rows: the last rows of all heads come first, then those before
// them. Block b of n takes unit b of the first n, n - 1 - b of the next n, and so on in turns, so
// that whoever had the longest of one round has the shortest of the next. Where there are many
// heads, they are numbered in sections, one after the other, so that blocks that run at a time
// share keys in the cache. All of this is a function of the sizes: results do not depend on who is
// first.
#pragma once

#include "compiler/kernels/Integers.h"

namespace attn {

/// The order for one attention.
class UnitOrder {
public:
  using Value = mlir::Value;

  /// `heads` times `down` units; each head has `keys` keys, of `keyBytes` bytes with its value. All
  /// values are of 32 bits.
  UnitOrder(const Integers &integers, Value heads, Value down, Value keys, int64_t keyBytes)
      : integers(integers), heads(heads), down(down), keys(keys), keyBytes(keyBytes) {}

  /// How many units a block takes.
  Value roundsOf(Value block, Value blocks) const;

  /// A block's work of one round.
  struct Unit {
    Value head, row; ///< the number of its head, and of its rows from the top
  };
  /// The unit that a block takes in a round.
  Unit at(Value block, Value blocks, Value round) const;

private:
  /// Whether blocks are counted backwards in a round.
  Value isOdd(Value round) const { return integers.equals(integers.rem(round, 2), 1); }

  const Integers &integers;
  Value heads, down, keys;
  int64_t keyBytes;
};

} // namespace attn
