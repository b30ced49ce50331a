// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of Hopper's kernel of attention (HopperAttention.cpp): what a block of threads takes of
// queries and keys at a time, and where that lies in shared memory.
#pragma once

#include "compiler/gpu/threads/Hopper.h"
#include "dialect/AttnDialect.h"
#include "llvm/Support/MathExtras.h"

namespace attn {

/// The tile of a block and what it takes.
struct HopperAttentionTile {
  static constexpr int64_t groupRows = 64, mostStages = 8;
  static constexpr int64_t queryBarrier = 0, barrierBytes = boxAlignment; ///< filled, emptied
  static constexpr int64_t keyBarriers = 64, valueBarriers = keyBarriers + 16 * mostStages;
  static constexpr int64_t specialFlags = 384; ///< a word of each warp of consumers
  static constexpr int64_t tileNumbers = 512;  ///< a word of each stage of keys
  static constexpr int64_t queryMemory = barrierBytes;

  /// Rows are those of all queries that share keys (QueryRows.h), and threads load them; else they
  /// are one head's, and the copy engine does.
  bool packsRows;
  int64_t consumers; ///< warp groups that multiply, each with 64 rows
  int64_t features, valueFeatures, keys;
  StageRing keyRing, valueRing;

  /// Rows of a block, and its threads, those of the producer included.
  int64_t rows() const { return consumers * groupRows; }
  int64_t threads() const { return (1 + consumers) * warpGroupThreads; }

  /// Boxes of a row, and bytes of rows, in shared memory.
  static int64_t boxesOf(int64_t features) { return llvm::divideCeil(features, swizzleElements); }
  static int64_t bytesOf(int64_t rows, int64_t features) {
    return rows * boxesOf(features) * swizzleBytes;
  }
  /// Bytes of shared memory that a block needs.
  int64_t sharedBytes() const { return valueRing.firstStage + valueRing.stages * valueRing.bytes; }

  /// The tile of an attention that isHopperAttention.
  static HopperAttentionTile of(AttentionKernelOp op);
};

/// The batch dims that a buffer's tensor map has: it is not repeated along them.
llvm::SmallVector<unsigned> mapDimsOf(AttentionKernelOp op, mlir::Value buffer);

} // namespace attn
