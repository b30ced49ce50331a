// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of a score that depend on the query or the key alone: computed outside of the region.
#pragma once

#include "compiler/frontend/sema/attention/Formula.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

namespace attn::frontend {

/// Values of one side, for all queries or all keys.
FormulaValue mapOutside(Formula &formula, llvm::ArrayRef<FormulaValue> values, ScalarBody body);

/// Arithmetic on values of one side, for all queries or all keys.
FormulaValue arithmeticOutside(Formula &formula, ast::BinaryOp op, const FormulaValue &left,
                               const FormulaValue &right);

/// The sum of a vector of one side, for all queries or all keys.
FormulaValue sumOutside(Formula &formula, const FormulaValue &vector);

/// A vector of one side divided by its length, for all queries or all keys.
FormulaValue unitOutside(Formula &formula, const FormulaValue &vector);

/// The inner product of a query and a key in the region.
mlir::Value dotInRegion(Formula &formula, mlir::Value a, mlir::Value b);

/// Reads a value that is computed outside of the region into it; false after an error.
bool intoRegion(Formula &formula, FormulaValue &value, SourceRange range);

/// Whether two vectors have the same axis; reports where they have not.
bool sameFeatures(Sema &sema, const FormulaValue &a, const FormulaValue &b, SourceRange range);

} // namespace attn::frontend
