// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas of hooks: expressions of positions, numbers and elements -> ops in a region.
#ifndef ATTN_COMPILER_FRONTEND_SEMA_FORMULAS_H
#define ATTN_COMPILER_FRONTEND_SEMA_FORMULAS_H

#include "compiler/frontend/sema/Formula.h"

namespace attn::frontend {

/// An error with what such a formula consists of.
FormulaValue wrongFormula(const Formula &formula, SourceRange range, const llvm::Twine &message);

/// The value of an expression in a formula, whose ops go where the formula's builder stands.
FormulaValue evalFormula(Formula &formula, const ast::Expr &expr);

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SEMA_FORMULAS_H
