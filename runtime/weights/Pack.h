// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing: tensors of a checkpoint to the parts of slots, on all threads.
#pragma once

#include "attn/abi.h"
#include "base/Error.h"

namespace attn {

struct StoredTensor;
class Team;

/// One part of one layer of a slot, and the tensor it is read from.
struct PackJob {
  const attn_abi_slot *slot;
  const attn_abi_part *part;
  int32_t layer;
  const StoredTensor *source;
};

/// Fills the parts of `block` on all threads of the team. What lies in files is read piece by
/// piece; ATTN_IO where one has become shorter. ATTN_BAD_WEIGHTS, W0106, where f16 cannot hold a
/// number that is to be kept in it.
attn_status packAll(const Vector<PackJob> &jobs, char *block, Team &team, Error &error);

} // namespace attn
