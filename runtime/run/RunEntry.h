// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of entries, as attn.h has them, for those who run several.
#pragma once

#include "run/Context.h"

namespace attn {

/// Whether the model has this entry, and the entry is an `unfold`: one that other entries make up.
inline bool generates(const attn_model &model, int32_t entry) {
  const attn_abi_model &tables = *model.tables;
  return entry >= 0 && entry < tables.entryCount && tables.entries[entry].unfold;
}

/// attn_infer_shapes: fills in dtype, rank and shape of the outputs for these inputs.
attn_status inferShapes(const attn_context &context, int32_t entry, const attn_tensor *inputs,
                        attn_tensor *outputs, Error &error);

struct RowsOfCall;

/// attn_run of an entry that has code of its own; attn_run_rows with `rows`.
attn_status runEntry(attn_context &context, int32_t entry, const attn_tensor *inputs,
                     const attn_tensor *outputs, Error &error, const RowsOfCall *rows = nullptr);

/// The dims of a call in this context, of so many rows by themselves; the shapes of inputs, and of
/// outputs where not null, are checked.
attn_status resolveCall(const attn_context &context, int32_t entry, const attn_tensor *inputs,
                        const attn_tensor *outputs, int64_t *dims, Error &error, int64_t rows = 0);

} // namespace attn
