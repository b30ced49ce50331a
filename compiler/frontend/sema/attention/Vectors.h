// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of a score: the query, the key and what is calculated from them.
#pragma once

#include "compiler/frontend/sema/attention/Formula.h"

namespace attn::frontend {

/// Arithmetic in a score. Nothing where both sides are numbers that stand in the region.
std::optional<FormulaValue> scoreArithmetic(Formula &formula, const ast::BinaryExpr &binary,
                                            FormulaValue &left, FormulaValue &right);

/// A function of one number, of a value of a score.
FormulaValue scoreFunction(Formula &formula, SourceRange range, llvm::StringRef name,
                           FormulaValue value);

/// A call of a function in a score.
std::optional<FormulaValue> scoreCall(Formula &formula, const ast::CallExpr &call,
                                      llvm::StringRef name,
                                      llvm::MutableArrayRef<FormulaValue> arguments);

/// A linear map of a score, applied to a vector of one side.
FormulaValue scoreLinear(Formula &formula, Decl &decl, const ast::CallExpr &call);

} // namespace attn::frontend
