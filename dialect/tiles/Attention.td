// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of attention kernels.
#ifndef ATTN_ATTENTION_TILES_TD
#define ATTN_ATTENTION_TILES_TD

include "dialect/AttnKernelOps.td"

#endif // ATTN_ATTENTION_TILES_TD
