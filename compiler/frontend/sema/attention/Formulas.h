// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas of hooks: expressions of positions, numbers and elements -> ops in a region.
#pragma once

#include "compiler/frontend/sema/attention/Formula.h"

namespace attn::frontend {

/// An error with what such a formula consists of.
FormulaValue wrongFormula(const Formula &formula, SourceRange range, const llvm::Twine &message);

/// The value of an expression in a formula, whose ops go where the formula's builder stands.
FormulaValue evalFormula(Formula &formula, const ast::Expr &expr);

/// The value of a function that is applied in a formula (FormulaCalls.cpp).
FormulaValue formulaCall(Formula &formula, const ast::CallExpr &call);

/// The smaller or the larger of two numbers.
FormulaValue extremum(const Formula &formula, bool isMinimum, const FormulaValue &a,
                      const FormulaValue &b);

} // namespace attn::frontend
