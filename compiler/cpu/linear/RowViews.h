// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Neighbouring rows of buffers, and vectors of their columns.
#pragma once

#include "compiler/kernels/Loops.h"

namespace attn {

/// Rows [first, first + count) of buffers that number the same rows by different dims.
class RowViews {
public:
  RowViews(IndexBuilder index, mlir::Value first, int64_t count)
      : index(index), first(first), count(count) {}

  /// A view of each row of a buffer, of rank 1 or more: what is left of it behind `rowDims` dims.
  llvm::SmallVector<mlir::Value> of(mlir::Value buffer, int64_t rowDims) const;

private:
  IndexBuilder index;
  mlir::Value first;
  int64_t count;
};

/// A vector of a row's columns [column + offset, + count); lanes from `count` on are neither read
/// nor written. The row is a memref of rank 1 and any stride: 0 repeats its one element.
struct ColumnVector {
  IndexBuilder index;
  mlir::Value column;
  int64_t offset, lanes, count;

  /// Reads and writes the vector. Lanes that are not read are 0.
  mlir::Value load(mlir::Value row) const;
  void store(mlir::Value vector, mlir::Value row) const;

private:
  /// The index of a lane's element, and which lanes are read and written.
  mlir::Value at(int64_t lane) const;
  mlir::Value mask() const;
};

} // namespace attn
