// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes and their names: from expressions, to text, and how they are compared.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// The most letters of an axis' name.
constexpr size_t longestName = 1000;

/// `[B, T, D]`
std::string showAxes(llvm::ArrayRef<Axis> axes);

/// `H, E`
std::string listAxes(llvm::ArrayRef<Axis> axes);

/// The position of the axis that is called like `name`, or -1.
int findAxis(llvm::ArrayRef<Axis> axes, llvm::StringRef name);

/// The axes of a type of tensors.
Axes axesOfType(mlir::Type tensor);

/// The axes of a tensor.
Axes axesOfValue(mlir::Value value);

/// The product of sizes, nothing where it exceeds 2^48.
std::optional<int64_t> productOf(llvm::ArrayRef<int64_t> sizes);

/// How tightly an operator binds; 1 for those that give a truth value and for `??`.
unsigned precedence(const ast::Expr &expr);

/// The expression as one writes it, `1 + Y*X`: the name of an axis of that size. `rename` gives
/// other names to dims.
std::string canonicalText(const ast::Expr &expr,
                          llvm::function_ref<std::string(llvm::StringRef)> rename = nullptr);

/// The size of an axis.
Size sizeOfAxis(const Axis &axis);

/// Whether two sizes are the same, whatever is known only when running.
bool isSameSize(const Size &a, const Size &b);

/// "5", or "2*T + 1".
std::string sizeText(const Size &size);

/// The axis of a size; a dynamic one is named by its size, whatever `name` is.
Axis axisOfSize(const std::string &name, const Size &size);

/// Nothing where it was reported.
std::optional<Axis> axisOf(Sema &sema, const ast::Expr &expr);

/// What to write where an axis, a name or a size, stands in one tensor twice.
std::string helpForSecond(Sema &sema, llvm::StringRef axis);

/// The axes of a list of sizes, each name once unless `sizesOnly`. Nothing where it was reported.
std::optional<Axes> axesOf(Sema &sema, const std::vector<ast::ExprPtr> &exprs, SourceRange range,
                           bool sizesOnly = false);

/// Adds the dims in an expression and their sizes as a note.
void noteSizes(Sema &sema, Diagnostic &diagnostic, const ast::Expr &expr);

/// Adds how axes differ that are called alike: "`T` is 4 here and 5 there".
void noteSameNames(Diagnostic &diagnostic, llvm::ArrayRef<Axis> here, llvm::ArrayRef<Axis> there);

/// "D = 768 (line 4), H = 12 (line 4)": the dims that axes consist of.
std::string whereSizes(Sema &sema, llvm::ArrayRef<Axis> axes);

} // namespace attn::frontend
