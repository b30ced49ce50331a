// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of queries of all heads, divided among threads, and a thread's brought together in
// groups of one head.
#pragma once

#include "compiler/cpu/attention/AttentionTiling.h"
#include <set>

namespace attn {

/// How many rows of values are summed for a block of `queries` lanes: fewer only in a part's last
/// block, where it is known. Lanes beyond the last query repeat it.
std::set<int64_t> countsOf(AttentionTiling &tiling, int64_t queries);

/// Lanes of the blocks that occur.
llvm::SmallVector<int64_t> blockSizes(AttentionTiling &tiling);

/// Divides the queries of a head, into QueryDivision. A head is one part; but where a mask has a
/// period, a part is as long, so that no block crosses a multiple of it: a tile of keys would be
/// live for both sides. Groups are whole parts then.
void divideQueries(AttentionTiling &tiling);

/// The first query of a head's block. Blocks of a part differ by at most one vector of queries, so
/// that none is nearly empty.
mlir::Value firstOf(AttentionTiling &tiling, mlir::Value block);

/// Loops over the thread's units, `tileGroup` in them, once head and group are known: up to
/// groupSize blocks of one head at a time, and head by head; where groups hold whole parts, which
/// share no keys, group by group, so that neighbouring heads find the pages of the same rows.
void tileGroups(AttentionTiling &tiling, llvm::function_ref<void()> tileGroup);

/// body(lanes) of each block of the group, once the block is known.
void forBlocks(AttentionTiling &tiling, llvm::function_ref<void(int64_t queries)> body);

} // namespace attn
