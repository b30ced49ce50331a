// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that are by themselves (attn/rows.h): what each holds, and calls of them.
#pragma once

#include "attn/rows.h"
#include "run/Context.h"

/// What rows.h calls a row: what the caches of a model hold of one sequence. Holds its model.
struct attn_row {
  attn_model *model = nullptr;
  attn::Vector<attn::CacheMemory *> caches; ///< One per cache of the model, for a batch of one.

  ~attn_row();
};

namespace attn {

/// The rows of a call, and how many positions it adds to each.
struct RowsOfCall {
  attn_row *const *rows; ///< Null: the context's caches hold the one row, which gets all positions.
  const int64_t *counts;
  int64_t count;
};

/// Whether an entry takes these rows; sets the dims that count positions in caches to those of the
/// longest row.
attn_status checkRows(const attn_context &context, int32_t entry, const RowsOfCall &rows,
                      int64_t *dims, Error &error);

/// Makes room in the rows for what a call with these dims adds, and in the context for what it is
/// told of them.
attn_status prepareRows(attn_context &context, const attn_abi_entry &entry, const RowsOfCall &rows,
                        const int64_t *dims, Error &error);

/// Tells a call of its rows: each as a call like `call`, with its own dims and caches. Rows of one
/// position are divided among the threads.
void describeRows(attn_context &context, const RowsOfCall &rows, attn_abi_call &call);

/// The first `length` positions of a row, in all caches, become what another row of the same model
/// holds, which is empty after an error.
attn_status copyRow(attn_row &to, const attn_row &from, int64_t length, Error &error);

/// After a call: its rows hold what it has added.
void countAdded(attn_context &context, const attn_abi_entry &entry, const RowsOfCall &rows);

} // namespace attn
