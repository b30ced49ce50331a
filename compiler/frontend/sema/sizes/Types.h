// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types as they are written: dtypes and axes, and where each may stand.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// What a type may be: of what stands in memory of the caller, of what stays inside of the model,
/// of a parameter.
enum class TypePlace { Entry, Block, Param };

/// The element type that a dtype names; null where it names none.
mlir::Type elementType(llvm::StringRef dtype, mlir::MLIRContext *context);

/// The words for dtypes.
std::vector<llvm::StringRef> dtypeNames();

/// The type of a tensor's elements.
mlir::Type elementOf(mlir::Value value);

/// `[B, T, D]` of a tensor of f32, `i32[B, T]` of another.
std::string showTensor(mlir::Value value);

/// The type of the elements that a type declares, f32 where it names none; null for an unknown one.
mlir::Type declaredElement(mlir::OpBuilder &builder, const ast::Type &type);

/// The axes of a type that stands at `place`; nothing where it was reported.
std::optional<Axes> typeAxes(Sema &sema, const ast::Type &type, llvm::StringRef what,
                             TypePlace place);

/// Appends a type of a signature to both lists; false after an error.
bool readType(Sema &sema, const ast::Type &type, std::vector<Axes> &axes,
              llvm::SmallVectorImpl<mlir::Type> &types, llvm::StringRef what, TypePlace place);

/// Whether a tensor can be calculated with; says so where it holds integers or truth values.
bool isCalculable(Reporter &report, mlir::Value value, SourceRange range);

/// `value` as elements of another float type.
mlir::Value convert(Sema &sema, mlir::Value value, mlir::Type element, mlir::Location loc);

} // namespace attn::frontend
