// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed tensors: several linear maps in one tensor of the checkpoint, one behind the other or head
// by head; and the strides of parameters.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// The axes of a linear map that are the rows of its tensor: those given, behind those that it is
/// along. Where the tensor of a map along axes is stored transposed, `@conv1d`, they are those
/// taken in the place of those given.
Axes rowAxes(const Decl &decl);

/// The axes within a row: the others.
const Axes &columnAxes(const Decl &decl);

/// Where the elements of a linear map are in a packed tensor: `offset` of `total` rows, a stride
/// for each of their axes.
struct Packing {
  int64_t total = 0, offset = 0;
  llvm::SmallVector<int64_t, 4> strides;
};

/// Where a linear map is in the tensor that it is bound to; nothing where it was reported. `scope`
/// holds the other parts of that.
std::optional<Packing> packing(Sema &sema, const Decl &decl, const ast::LinearDecl &linear,
                               Scope &scope);

/// The rows [offset, offset + rows) of the `total` of a tensor.
struct RowsOfTensor {
  int64_t offset = 0, rows = 0, total = 0;
};

/// The rows that a binding `slice(…)` says; nothing where it was reported. `decl` takes `rows`;
/// where the binding does not say of how many, they are as many as the declarations in `scope` that
/// are bound to the tensor need.
std::optional<RowsOfTensor> slicedRows(Sema &sema, const Decl &decl, int64_t rows, Scope &scope);

/// The sizes of axes.
llvm::SmallVector<int64_t, 4> sizesOf(llvm::ArrayRef<Axis> axes);

/// The product of the sizes of axes, at most INT64_MAX.
int64_t count(llvm::ArrayRef<Axis> axes);

/// A sum, at most INT64_MAX.
int64_t plus(int64_t a, int64_t b);

/// Row-major strides, innermost `unit`.
llvm::SmallVector<int64_t, 4> rowMajor(llvm::ArrayRef<Axis> axes, int64_t unit);

} // namespace attn::frontend
