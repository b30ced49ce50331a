/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A small model with tables and kernels written by hand in C, standing in for compiled code:
 *   h = x + pos;  twice: h = h + W_n h + b_n;  logits = V h        x [B, D], logits [B, K]
 */
#pragma once

#include "attn/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TINY_D = 6, TINY_K = 5, TINY_B = 8, TINY_LAYERS = 2 };

/* Entries "run" and, where a picture [1, 2, 3] becomes x, "see". */
const attn_abi_model *tiny_model(void);

#ifdef __cplusplus
}
#endif
