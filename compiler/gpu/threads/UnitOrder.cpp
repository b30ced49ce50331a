// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The number of a block and of a round to a head and its rows.
#include "compiler/gpu/threads/UnitOrder.h"

using namespace mlir;
using namespace attn;

/// Bytes of keys and values that a section of heads may have: a little more than the 50 MB of an
/// H100's L2 cache. A section has `leastHeads` at any rate: 132 blocks then share them by four.
constexpr int64_t sectionBytes = 64 << 20;
constexpr int64_t leastHeads = 32;

Value UnitOrder::roundsOf(Value block, Value blocks) const {
  const Integers &i = integers;
  Value units = i.mul(heads, down), whole = i.div(units, blocks), rest = i.rem(units, blocks);
  Value isForth = i.below(block, rest), isBack = i.below(i.sub(i.add(blocks, -1), block), rest);
  Value hasLast = i.select(isOdd(whole), isBack, isForth);
  return i.add(whole, i.select(hasLast, i.constant(1), i.constant(0)));
}

UnitOrder::Unit UnitOrder::at(Value block, Value blocks, Value round) const {
  const Integers &i = integers;
  Value inRound = i.select(isOdd(round), i.sub(i.add(blocks, -1), block), block);
  Value unit = i.add(i.mul(round, blocks), inRound);

  Value wanted = i.div(i.constant(sectionBytes / keyBytes), keys);
  wanted = i.select(i.below(wanted, leastHeads), i.constant(leastHeads), wanted);
  wanted = i.min(wanted, heads);
  Value section = i.div(unit, i.mul(wanted, down)), firstHead = i.mul(section, wanted);
  Value own = i.min(wanted, i.sub(heads, firstHead)); // the last section may have fewer
  Value inSection = i.sub(unit, i.mul(firstHead, down));
  Value fromEnd = i.add(i.div(inSection, own), 1);
  return {i.add(firstHead, i.rem(inSection, own)), i.sub(down, fromEnd)};
}
