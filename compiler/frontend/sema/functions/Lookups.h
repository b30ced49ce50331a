// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embeddings, positions, and what indices must be below.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Sets up the weight of an embedding.
void setUpEmbedding(Sema &sema, Decl &decl, const Owner &owner, Scope &scope);

/// An embedding of indices: an attn.lookup.
SemaValue applyEmbedding(Sema &sema, Decl &decl, const ast::CallExpr &call);

/// 0, 1, … of i32 along an axis; null where it was reported.
mlir::Value positionsAlong(Sema &sema, const Axis &along, SourceRange range);

/// `positions(T)`: the numbers along an axis, counted through the cache of the entry.
SemaValue callPositions(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend
