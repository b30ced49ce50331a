// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores: of a query and a key, declared or known by name.
#pragma once

#include "compiler/frontend/sema/attention/AttentionRegions.h"

namespace attn::frontend {

/// Whether the expression of a score line names a declared score.
bool isDeclaredScore(Sema &sema, const ast::Expr *score);

/// The static that an expression names; null where it is something else.
const Decl *staticOf(Names &names, const ast::Expr *expr);

/// Fills the region of a score of `q` and `k` up to its attn.yield; false after an error.
bool buildScore(Sema &sema, const ast::Expr *score, AttentionRegions &regions, mlir::Value q,
                mlir::Value k);

} // namespace attn::frontend
