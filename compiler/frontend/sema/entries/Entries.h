// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries: the public functions of a model.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Builds a public function for each entry of the model.
void buildEntries(Sema &sema);

/// Builds the public function of one entry.
void buildEntry(Sema &sema, const ast::EntryDecl &entry);

} // namespace attn::frontend
