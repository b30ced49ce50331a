// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries that do a part of what `forward` says, and what all entries do with their caches.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Whether `without` and `only` of an entry name what `forward` takes; reports what they do not.
bool checkPart(Sema &sema, const ast::EntryDecl &entry, const ast::Signature &forward);

/// Drops what entries do not need which lack inputs or only fill caches, with those inputs; reports
/// what needs an input that an entry lacks. To be called once, when all entries are built.
void trimParts(Sema &sema);

/// Says of each entry what it does with its caches (`attn.caches`). Reports a part of a cache that
/// an entry comes to twice, and entries that do not fit together.
void noteCaches(Sema &sema);

} // namespace attn::frontend
