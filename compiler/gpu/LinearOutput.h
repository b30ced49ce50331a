// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of a linear's sums in a thread: bias, epilogue, store.
#pragma once

#include "compiler/cpu/Loops.h"
#include "dialect/AttnDialect.h"

namespace attn {

/// A row of a linear's output. Code is emitted at the index' builder.
class LinearOutputRow {
public:
  /// Row `flat`, which is one of the output's.
  LinearOutputRow(LinearKernelOp op, IndexBuilder index, mlir::Value flat);

  /// Takes the sums of columns `column` and the next, those that are below the output's.
  /// `isInside`: it is known that all are. Pairs of columns go to memory in one piece where
  /// `column` is even.
  void finish(mlir::Value column, mlir::Value first, mlir::Value second, bool isInside);
  void finish(mlir::Value column, mlir::Value sum);

private:
  /// Whether a buffer's pairs of columns are aligned: {rows...} and base of even offsets.
  static bool hasPairs(mlir::Value buffer);
  llvm::SmallVector<mlir::Value> placeIn(mlir::Value buffer, mlir::Value column);
  mlir::Value epilogue(llvm::ArrayRef<mlir::Value> elements);
  void finishPair(mlir::Value column, mlir::Value first, mlir::Value second);

  LinearKernelOp op;
  IndexBuilder index;
  bool pairs;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> rows; ///< in each buffer
};

} // namespace attn
