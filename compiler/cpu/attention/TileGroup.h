// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of a group of blocks of queries, tile by tile of keys.
#pragma once

#include "compiler/cpu/attention/AttentionTiling.h"

namespace attn {

/// Writes the tiles of the group that is known. Where keys and values are packed for all of the
/// head, they are before the first block.
void tileGroup(AttentionTiling &tiling);

} // namespace attn
