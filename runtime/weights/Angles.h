// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slots that no checkpoint fills: cosines and sines of angles that grow with the position.
#pragma once

#include "attn/abi.h"
#include "base/Error.h"

namespace attn {

class Team;

/// Fills the slots of ATTN_PACK_COSINES and ATTN_PACK_SINES in `block`, on all threads of the team.
attn_status fillAngles(const attn_abi_model &tables, char *block, Team &team, Error &error);

} // namespace attn
