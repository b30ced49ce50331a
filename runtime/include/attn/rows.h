/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Rows: sequences of one model that share calls, each with a length of its own. An entry `by B`
 * (attn_model_rows_dim) adds to some rows any number of positions each: prompts, or pieces of them,
 * beside single tokens of others. What a row gets does not depend, to the bit, on the rows beside
 * it, nor on how its positions are divided into calls. Artifacts have these functions as those of
 * attn.h; ownership, threads, errors and messages are as there.
 */
#pragma once

#include "attn/attn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One sequence: what the caches of a model hold of it. */
typedef struct attn_row attn_row;

/* The dim that counts the rows of an entry which are by themselves; -1 where an entry has none, and
 * takes no rows. */
ATTN_API int32_t attn_model_rows_dim(const attn_model *model, int32_t entry);

/* A row without positions, which attn_row_destroy ends. It holds the model, and no memory of caches
 * until positions come. ATTN_INVALID_ARGUMENT: null pointers; ATTN_OUT_OF_MEMORY. */
ATTN_API attn_status attn_row_create(attn_model *model, attn_row **row, char **message);
ATTN_API void attn_row_destroy(attn_row *row);

/* The positions of a row in a cache of the model; -1 where there is no such cache. */
ATTN_API int64_t attn_row_length(const attn_row *row, int32_t cache);

/* Drops positions from the end, so that `length` are left. ATTN_INVALID_ARGUMENT: a null pointer,
 * no such cache, a length above that of the row. */
ATTN_API attn_status attn_row_truncate(attn_row *row, int32_t cache, int64_t length,
                                       char **message);

/* What `from` holds becomes what `to` holds: two ways to go on. Both are rows of one model.
 * ATTN_INVALID_ARGUMENT: null pointers, rows of two models; ATTN_OUT_OF_MEMORY, after which `to`
 * is empty. */
ATTN_API attn_status attn_row_copy(attn_row *to, const attn_row *from, char **message);

/* Runs an entry `by B`: adds counts[r] positions, at least 1, to rows[r], each of the `count` rows
 * once. Inputs and outputs of positions have those of all rows one behind the other along that
 * axis, and 1 along the batch; what has one place for each row has them in the order of `rows`. The
 * rows may have been made by whoever holds the model, and run in one context at a time.
 * ATTN_INVALID_ARGUMENT: null pointers, an entry without rows, a row twice, rows of another model,
 * a count below 1, a context on a GPU; ATTN_BAD_INPUT: tensors that do not fit, or more positions
 * than a row has room for; ATTN_BAD_WEIGHTS, ATTN_OUT_OF_MEMORY. After an error rows are as they
 * were. */
ATTN_API attn_status attn_run_rows(attn_context *context, int32_t entry, attn_row *const *rows,
                                   const int64_t *counts, int64_t count, const attn_tensor *inputs,
                                   const attn_tensor *outputs, char **message);

#ifdef __cplusplus
}
#endif
