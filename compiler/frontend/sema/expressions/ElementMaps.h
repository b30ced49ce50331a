// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What operators of elements take, which arithmetic that has, and maps of it.
#pragma once

#include "compiler/frontend/sema/sizes/Tensors.h"

namespace attn::frontend {

/// A side of an operator: a tensor or a number, as it is written.
struct ElementOperand {
  SemaValue value;
  const ast::Expr *expr;
  mlir::Value size = {}; ///< A whole number that is known only when running; `value` is a number.
};

/// The sides of an operator. A size that is known only when running is one beside a tensor; alone
/// it is reported. A wrong side is an error.
llvm::SmallVector<ElementOperand, 2> evalSides(Sema &sema, llvm::ArrayRef<const ast::Expr *> exprs);

/// Whether a side is a tensor of integers, or of truth values.
bool holdsIntegers(const ElementOperand &side);
bool holdsTruth(const ElementOperand &side);

/// What a side holds, for people: "this is i32[B, T]".
std::string describeOperand(const ElementOperand &side);

/// What an operator `op` calculates in: f32, i32, i64 or i1; null and reported where its sides do
/// not mix.
mlir::Type arithmeticOf(Sema &sema, llvm::ArrayRef<ElementOperand> sides, SourceRange range,
                        llvm::StringRef op);

/// Whether truth values are calculated with, which is reported.
bool isTruthReported(Sema &sema, llvm::ArrayRef<ElementOperand> sides);

/// Whether integers are divided by a number for which that has a meaning; says so, of `what`.
bool isDivisorOfIntegers(Sema &sema, const ElementOperand &side, const llvm::Twine &what);

/// A map of `sides`, whose elements come as `calculated`, truth values as they are; its result
/// holds `element`s and has the axes of the side with most, the first of such. `words` say what it
/// does.
SemaValue mapOf(Sema &sema, llvm::ArrayRef<ElementOperand> sides, mlir::Type calculated,
                mlir::Type element, SourceRange range, llvm::StringRef op, llvm::StringRef words,
                ScalarBody body);

} // namespace attn::frontend
