// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The queries that share keys, as rows of one matrix: those of a head, and of its neighbours along
// batch dims whose keys and values are the same, which have stride 0 there. Heads that share a key
// head (grouped-query attention), and all tokens of them, fill tiles of rows together.
#pragma once

#include "compiler/gpu/threads/TensorCores.h"
#include "compiler/transforms/MaskIntervals.h"
#include "dialect/AttnDialect.h"

namespace attn {

/// Whether neighbours along a dim of a buffer are the same.
bool isRepeated(mlir::Value buffer, int64_t dim);

/// Rows of a matrix of queries that share keys, by what the types say; nothing where that is not
/// all.
std::optional<int64_t> rowsOfHead(AttentionKernelOp op);

/// Numbers the rows of one attention's queries.
class QueryRows {
public:
  /// At the insertion point of a kernel's function.
  /// `packs`: rows of neighbouring heads are in one matrix where they can be.
  QueryRows(AttentionKernelOp op, IndexBuilder index, bool packs = true);

  /// The indices of matrix number `head`: of the batch dims that are not in it.
  llvm::SmallVector<mlir::Value> headOf(mlir::Value head);
  /// Positions (batch..., m) of a row of a head.
  llvm::SmallVector<mlir::Value> positionsOf(mlir::ValueRange head, mlir::Value row);
  /// What the mask says of rows and keys between two each, both included.
  Interval boundTile(mlir::ValueRange head, mlir::Value firstRow, mlir::Value lastRow,
                     mlir::Value firstKey, mlir::Value lastKey);
  /// The first of tiles of `tileKeys` keys, from number `from` on, that the mask leaves something
  /// of for rows between two, or their count: the lanes of a warp look at 32 at a time. All of the
  /// warp get it.
  mlir::Value nextTile(const TensorCores &cores, mlir::ValueRange head, mlir::Value firstRow,
                       mlir::Value lastRow, int64_t tileKeys, mlir::Value from);

  mlir::Value heads, count, keyCount;

private:
  /// Whether the mask asks for bounds of tensors, which a warp finds together.
  bool readsRanges();

  AttentionKernelOp op;
  IndexBuilder index;
  int64_t dims; ///< of a head
};

} // namespace attn
