// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed blocks whose panels are as wide as the code of a CPU level has them, or a GPU's.
#pragma once

#include "attn/abi.h"
#include "base/Vector.h"

namespace attn {

/// The slots of a model with panels as the level has them; false where memory is short.
bool slotsOfLevel(const attn_abi_model &tables, const attn_abi_level &level,
                  Vector<attn_abi_slot> &slots);

/// Whether a slot has other panels than `other`, which is the same but for their width.
inline bool hasOtherPanels(const attn_abi_slot &slot, const attn_abi_slot &other) {
  return slot.width != other.width;
}

/// Copies `slot.bytes` bytes of one layer, `from`, to `to`, with panels of `width` columns.
void regroupPanels(const attn_abi_slot &slot, const char *from, int64_t width, char *to);

/// Whether any slot has other panels than the same one of `others`.
bool haveOtherPanels(const attn_abi_model &tables, const attn_abi_slot *others);

/// Copies a block that is packed as `tables` say to one with the panels of `slots`.
void regroupBlock(const attn_abi_model &tables, const char *from, const attn_abi_slot *slots,
                  char *to);

} // namespace attn
