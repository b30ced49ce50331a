// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes: dims, --set and arithmetic in whole numbers.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Takes the sizes given by --set.
void applySets(Sema &sema);

/// The size of a dim, computed when it is first asked for.
const Size &sizeOf(Sema &sema, Decl &dim);

/// The position of the axis that `name` is the name of, or -1. An axis whose size is known only
/// when running is also named by a dim of that size: `T + 3` by `dim T3 = T + 3`.
int findNamedAxis(Sema &sema, llvm::ArrayRef<Axis> axes, const ast::Name &name);

/// The truth value of an `if`, by sizes and statics; nothing where it was reported.
std::optional<bool> evalCondition(Sema &sema, const ast::Expr &expr);

/// An expression of sizes; wrong where it was reported.
Size evalSize(Sema &sema, const ast::Expr &expr);

/// Writes a dim into the header of the module; `size` is the bound of a dynamic one.
void emitDim(Sema &sema, const Decl &decl, int64_t size, bool isDynamic);

/// Writes the dims and caches of a scope into the header of the module.
void emitDims(Sema &sema, Scope &scope);

} // namespace attn::frontend
