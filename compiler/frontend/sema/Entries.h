// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries: the public functions of a model.
#ifndef ATTN_COMPILER_FRONTEND_SEMA_ENTRIES_H
#define ATTN_COMPILER_FRONTEND_SEMA_ENTRIES_H

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Builds a public function for each entry of the model.
void buildEntries(Sema &sema);

/// Builds the public function of one entry.
void buildEntry(Sema &sema, const ast::EntryDecl &entry);

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SEMA_ENTRIES_H
