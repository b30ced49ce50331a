// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches: which ones an entry has, what it pushes or fills in and what its axes are.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Computes the capacity and element type of a cache and emits its dim.
void declareCache(Sema &sema, Decl &cache);

/// The caches that a signature takes, by its names and declarations; false after an error.
bool findEntryCaches(Sema &sema, const ast::Signature &signature);

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

/// The cache that `expr` names; null where it is something else.
Decl *cacheNamed(Names &names, const ast::Expr &expr);

/// The cache that `expr` pushes to or fills: `kv.push(k, v)`, `kv.once(k, v)`; null where it is no
/// such call.
Decl *pushedTo(Names &names, const ast::Expr &expr);

/// Keys and values with all that the cache holds, or nothing after an error.
std::vector<SemaValue> evalPush(Sema &sema, const ast::CallExpr &call, const ast::AlongAxis &along);

} // namespace attn::frontend
