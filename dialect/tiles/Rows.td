// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of rows kernels.
#ifndef ATTN_ROWS_TILES_TD
#define ATTN_ROWS_TILES_TD

include "dialect/AttnKernelOps.td"

#endif // ATTN_ROWS_TILES_TD
