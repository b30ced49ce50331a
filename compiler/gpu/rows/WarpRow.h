// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row by the threads of a warp, as the formulas of compiler/kernels/rows see it.
#pragma once

#include "compiler/gpu/threads/Warp.h"
#include "compiler/kernels/rows/RowLanes.h"

namespace attn {

/// The lanes of a warp. A thread does one element at a time, and rows are neither prefetched nor
/// masked.
class WarpRow : public RowLanes {
public:
  /// At the insertion point of a kernel's function.
  WarpRow(mlir::OpBuilder &builder, mlir::Location loc)
      : RowLanes(builder, loc), warp(builder, loc) {}

  Value prepare(Value row) const override { return row; }
  Value load(Value row, const RowPlace &place, Value rest = {}) const override;
  void store(Value value, Value row, const RowPlace &place) const override;
  void storeNumber(Value number, Value row, Value column) const override;

  bool areVectors() const override { return false; }
  Value repeat(Value number) const override;
  Value columnsAt(const RowPlace &place) const override { return repeat(place.column); }
  /// All threads get the result.
  Value acrossLanes(Value value, Combine combine) const override;
  Value apply(mlir::Region &body, mlir::ValueRange elements) const override;

  void forEach(Value columns, int64_t unroll,
               llvm::function_ref<void(const RowPlace &)> body) const override;
  void forPlaces(Value columns, int64_t most,
                 llvm::function_ref<void(llvm::ArrayRef<RowPlace>)> body) const override;
  using RowLanes::fold;
  /// A thread goes on from what it found `before`.
  RowFold::State fold(Value columns, int64_t unroll, const RowFold &fold,
                      mlir::ValueRange before = {}) const override;

private:
  Warp warp;
};

} // namespace attn
