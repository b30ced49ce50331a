// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches: which ones an entry has, and what it pushes or fills in.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Computes the capacity and element type of a cache and emits its dim.
void declareCache(Sema &sema, Decl &cache);

/// The caches that a signature takes, by its names and declarations; false after an error.
bool findEntryCaches(Sema &sema, const ast::Signature &signature);

/// The cache that `expr` names; null where it is something else.
Decl *cacheNamed(Names &names, const ast::Expr &expr);

/// The cache that `expr` pushes to or fills: `kv.push(k, v)`, `kv.once(k, v)`; null where it is no
/// such call.
Decl *pushedTo(Names &names, const ast::Expr &expr);

/// Keys and values with all that the cache holds, or nothing after an error.
std::vector<SemaValue> evalPush(Sema &sema, const ast::CallExpr &call, const ast::AlongAxis &along);

} // namespace attn::frontend
