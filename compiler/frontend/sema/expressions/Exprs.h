// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions -> values: numbers, or tensors that ops compute.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// What `op` makes of two numbers, where it makes a number; `a % b` has the sign of b.
std::optional<double> foldNumbers(ast::BinaryOp op, double a, double b);

/// The value of an expression; the only one, where that may give several.
SemaValue eval(Sema &sema, const ast::Expr &expr);

/// The value of an expression that must give one; reports where it gives several.
SemaValue theOnly(Reporter &report, const std::vector<SemaValue> &values, const ast::Expr &expr);

/// The values of an expression that may give several; one wrong one stands for all.
std::vector<SemaValue> evalSeveral(Sema &sema, const ast::Expr &expr);

/// The value of an expression that must be a tensor, of numbers unless `anyElement`.
mlir::Value evalTensor(Sema &sema, const ast::Expr &expr, const llvm::Twine &what,
                       bool anyElement = false);

/// The value of an expression that must be a number; nothing where it was reported.
std::optional<double> evalNumber(Sema &sema, const ast::Expr &expr, const llvm::Twine &what);

} // namespace attn::frontend
