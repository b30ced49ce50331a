// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a formula reads from tensors: params and inputs of its hook, and their elements.
#pragma once

#include "compiler/frontend/sema/attention/Formula.h"

namespace attn::frontend {

/// Names a hook's parameters and inputs in `inside`; sets the parameters up where it is the first
/// to do so.
bool bindWith(Formula &inside, Decl &decl, const ast::HookDecl &hook, SourceRange place);

/// The tensor or parameter of that name; null where there is none.
mlir::Value tensorInScope(Sema &sema, const ast::PathExpr &path);

/// The most elements that an axis may have.
int64_t mostOf(Sema &sema, const Axis &axis);

/// A tensor that a formula names without an index.
FormulaValue formulaTensor(Formula &formula, const ast::PathExpr &path);

/// The element of a tensor at the indices that a formula gives.
FormulaValue formulaIndex(Formula &formula, const ast::IndexExpr &expr);

} // namespace attn::frontend
