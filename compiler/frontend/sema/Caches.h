// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches: which one an entry has, what it pushes and what its axes are.
#ifndef ATTN_COMPILER_FRONTEND_SEMA_CACHES_H
#define ATTN_COMPILER_FRONTEND_SEMA_CACHES_H

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Computes the capacity and element type of a cache and emits its dim.
void declareCache(Sema &sema, Decl &cache);

/// The cache that a signature takes, its name and declaration; false after an error.
bool findEntryCache(Sema &sema, const ast::Signature &signature);

/// Whether an axis counts the positions that the running entry adds to its cache.
bool isNewAxis(Sema &sema, const Axis &axis);

/// The axis of all positions in the cache of the running entry.
Axis cacheAxis(EntryState &entry);

/// Whether a key axis is that of a cache.
bool isCacheAxis(EntryState &entry, const Axis &axis);

/// The new rows of a table along all positions in the cache.
mlir::Value newRows(Sema &sema, mlir::Value table, const Axis &axis, SourceRange range);

/// The cache that `expr` names; null where it is something else.
Decl *cacheNamed(Names &names, const ast::Expr &expr);

/// The cache that `expr` pushes to: `kv.push(k, v)`; null where it is no such call.
Decl *pushedTo(Names &names, const ast::Expr &expr);

/// Keys and values with all that the cache holds, or nothing after an error.
std::vector<SemaValue> evalPush(Sema &sema, const ast::CallExpr &call, const ast::AlongAxis &along);

/// Reports a part of a cache that an entry pushes to twice, and entries that push to different
/// ones.
void checkPushes(Sema &sema, mlir::func::FuncOp entry, SourceRange place);

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SEMA_CACHES_H
