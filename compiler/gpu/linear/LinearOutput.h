// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of a linear's sums in a thread: those of bytes are made floats, then bias, epilogue,
// store.
#pragma once

#include "compiler/kernels/Loops.h"
#include "dialect/AttnDialect.h"

namespace attn {

/// How many columns of a buffer lie side by side at a multiple of their number: 8 at most.
int64_t neighboursIn(mlir::Value buffer);

/// A row of a linear's output. Code is emitted at the index' builder.
class LinearOutputRow {
public:
  /// Row `flat`, which is one of the output's.
  LinearOutputRow(LinearKernelOp op, IndexBuilder index, mlir::Value flat);

  /// Takes the sums of neighbouring columns from `column` on, of those that are below the output's;
  /// there are 1, 2, 4 or 8, and `column` is a multiple of their number. `isInside`: it is known
  /// that all are. They go to memory in pieces as large as all buffers are aligned for.
  void finish(mlir::Value column, llvm::ArrayRef<mlir::Value> sums, bool isInside);

  /// What these neighbouring columns become, in f32; all of them are the output's.
  llvm::SmallVector<mlir::Value> finished(mlir::Value column, llvm::ArrayRef<mlir::Value> sums);

private:
  /// The indices of a column of this row in a buffer.
  llvm::SmallVector<mlir::Value> placeIn(mlir::Value buffer, mlir::Value column);
  /// Reads `count` neighbours in one piece, as f32.
  llvm::SmallVector<mlir::Value> load(mlir::Value buffer, mlir::ValueRange place, int64_t count);
  /// The epilogue's value; `elements` are a sum and what is captured.
  mlir::Value epilogue(llvm::ArrayRef<mlir::Value> elements);
  /// What a sum of products of bytes is worth, which is of i32, or of f32 for int4.
  mlir::Value dequantized(mlir::Value column, mlir::Value sum);
  void finishPiece(mlir::Value column, llvm::ArrayRef<mlir::Value> sums);

  LinearKernelOp op;
  IndexBuilder index;
  int64_t neighbours;      ///< columns that are read and written in one piece: 1, 2, 4 or 8
  mlir::Value scale, zero; ///< of a row of bytes
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> rows; ///< in each buffer
};

} // namespace attn
