// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of an attention's buffers, and of its scratch.
#pragma once

#include "compiler/cpu/attention/AttentionTiling.h"

namespace attn {

/// The matrix [rows, features] of one head.
mlir::Value headOf(AttentionTiling &tiling, mlir::Value buffer, mlir::ValueRange batch);

/// A vector of the score, of one head.
mlir::Value vectorOf(AttentionTiling &tiling, ElementOp element, mlir::ValueRange batch);

/// Rows [from, from + count) of a matrix.
mlir::Value rowsOf(AttentionTiling &tiling, mlir::Value matrix, mlir::Value from,
                   mlir::Value count);

/// [rows][columns] in the thread's scratch: number `part` of several from float `at` on.
mlir::Value scratchOf(AttentionTiling &tiling, int64_t at, mlir::Value part, int64_t rows,
                      int64_t columns);

/// Where the tile that begins with key `from` is packed.
mlir::Value packedOf(AttentionTiling &tiling, int64_t at, mlir::Value from, int64_t rows,
                     int64_t columns);

/// Whether values are packed first: not for a few queries, nor where they lie together already.
bool isPacked(AttentionTiling &tiling);

} // namespace attn
