// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole block of packed weights out of the tensors that a checkpoint was matched with.
#pragma once

#include "weights/Match.h"

namespace attn {

class Team;

/// ATTN_INVALID_ARGUMENT (R0106) where the table of slots contradicts itself.
attn_status checkSlots(const attn_abi_model &tables, Error &error);

/// Fills the parts of `block` whose tensors there are, on all threads of the team; the files are
/// those of `checkpoint`, and an error where they were changed meanwhile.
attn_status packCheckpoint(const attn_abi_model &tables, const Checkpoint &checkpoint,
                           const Binding &binding, char *block, Team &team, Error &error);

} // namespace attn
