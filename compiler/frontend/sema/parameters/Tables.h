// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables: constants by formula, dynamic axes at their bounds.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Reads the formula and the axes of a table.
void setUpTable(Sema &sema, Decl &decl);

/// Constants of these axes, dynamic ones at their bounds: `count` of them, which `compute` gives
/// for their sizes. They are computed once for each `key` and sizes. None after an error: too
/// many elements in the model, or what `compute` reports.
llvm::ArrayRef<mlir::Attribute>
constantsOf(Sema &sema, llvm::ArrayRef<Axis> axes, int64_t count, llvm::StringRef key,
            SourceRange range, llvm::function_ref<Constants(llvm::ArrayRef<int64_t>)> compute);

/// An attn.table of `elements`, which go up to the bounds of dynamic axes.
mlir::Value makeTable(Sema &sema, llvm::ArrayRef<Axis> axes, mlir::Attribute elements,
                      mlir::Location loc);

/// A table where it is named, as a constant.
SemaValue tableValue(Sema &sema, Decl &decl, SourceRange range);

} // namespace attn::frontend
