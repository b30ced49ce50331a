/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a context keeps from call to call, its caches and states, copied to another context, and
 * saved as bytes. Artifacts have these functions as those of attn.h; ownership, threads, errors and
 * messages are as there. An attn_text remembers the tokens that it has put into a context's caches:
 * make it anew where these have been replaced.
 */
#pragma once

#include "attn/attn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the caches and states of `from` hold becomes that of `to`, another context of the same
 * model, on whatever device, and stays that of `from`: two ways to go on. Neither runs meanwhile.
 * ATTN_INVALID_ARGUMENT: null pointers, contexts of two models; ATTN_BAD_INPUT: one runs on a
 * device that keeps caches in another form (attn_context_set_device); ATTN_OUT_OF_MEMORY or
 * ATTN_NO_DEVICE, after which `to` is as after attn_context_reset. */
ATTN_API attn_status attn_context_copy(attn_context *to, attn_context *from, char **message);

/* *data becomes *size bytes, freed by free(), from which attn_context_load restores the caches and
 * states of the context: in this process or another, on this machine or another one. They hold the
 * positions that are filled, and what tells the model: its description, its level and its weights,
 * all of which are read once for it. ATTN_INVALID_ARGUMENT: null pointers; ATTN_OUT_OF_MEMORY,
 * ATTN_NO_DEVICE. */
ATTN_API attn_status attn_context_save(attn_context *context, void **data, size_t *size,
                                       char **message);

/* Replaces what the context's caches and states hold by what was saved. The model has to be the
 * same, at the same level and with the same weights: else the next tokens would be others.
 * ATTN_BAD_INPUT: bytes of another model, or of a device that keeps caches in another form, or
 * damaged ones, after which the context is as it was; ATTN_INVALID_ARGUMENT: null pointers;
 * ATTN_OUT_OF_MEMORY or ATTN_NO_DEVICE, after which it is as after attn_context_reset. */
ATTN_API attn_status attn_context_load(attn_context *context, const void *data, size_t size,
                                       char **message);

#ifdef __cplusplus
}
#endif
