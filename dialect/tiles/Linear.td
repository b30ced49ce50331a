// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of linear kernels.
#ifndef ATTN_LINEAR_TILES_TD
#define ATTN_LINEAR_TILES_TD

include "dialect/AttnKernelOps.td"

#endif // ATTN_LINEAR_TILES_TD
