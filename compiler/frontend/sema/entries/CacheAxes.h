// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axes of caches: of all their positions, and of those that the running entry adds.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Whether an axis counts the positions that the running entry adds to its caches.
bool isNewAxis(Sema &sema, const Axis &axis);

/// The axis of all positions in the first cache of the running entry.
Axis cacheAxis(EntryState &entry);

/// Whether a key axis is that of a cache, or of one that is pushed to.
bool isCacheAxis(EntryState &entry, const Axis &axis);
bool isPushedAxis(EntryState &entry, const Axis &axis);

/// What tells functions of blocks in the running entry from those in others.
std::string keyOfEntry(const EntryState &entry);

/// The new rows of a table along all positions in the cache.
mlir::Value newRows(Sema &sema, mlir::Value table, const Axis &axis, SourceRange range);

} // namespace attn::frontend
