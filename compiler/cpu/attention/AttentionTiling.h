// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: what is known of one kernel while the loops over its tiles are
// written, from the whole kernel down to a block of queries. The writing is functions, a header for
// each topic: AttentionBlocks.h which blocks of queries a thread takes, group by group; TileGroup.h
// what becomes of a group; KeyTiles.h tiles of keys; TileScores.h and TileProducts.h the tiles
// themselves, ScoreStages.h with their hooks.
#pragma once

#include "compiler/cpu/attention/AtPlace.h"
#include "compiler/cpu/attention/Attention.h"
#include "compiler/cpu/attention/RegisterBlocks.h"
#include "compiler/kernels/ScoreFunction.h"
#include "compiler/transforms/AttentionShape.h"
#include "dialect/Locations.h"

namespace attn {

/// A head's queries are divided into parts, and these into blocks.
struct QueryDivision {
  int64_t granule = 0;       ///< Queries that a block is a multiple of, but for a part's last.
  int64_t groupSize = 0;     ///< Blocks of a group, at most.
  bool isGroupMajor = false; ///< Units are ordered by group, then by head.
  mlir::Value blockCount;    ///< Of a head.
  mlir::Value partQueries, partVectors, partBlocks; ///< Of a part.
};

/// The head whose queries are tiled.
struct HeadBuffers {
  llvm::SmallVector<mlir::Value> batch;   ///< Its position.
  mlir::Value query, key, value;          ///< [rows, features].
  llvm::SmallVector<mlir::Value> vectors; ///< Which the score reads.
};

/// Blocks of one head that go through a tile of keys one after the other.
struct QueryGroup {
  mlir::Value first, count;   ///< Its blocks.
  mlir::Value turns;          ///< memref<index>: how many went through the tile before; of masks.
  bool areKeysPacked = false; ///< All of the head.
  mlir::Value areAllFinite;   ///< memref<i1>: values that are packed; null where they are not.
};

/// The block of a group that is tiled.
struct QueryBlock {
  mlir::Value turn;            ///< How many of the group went through the tile of keys before it.
  mlir::Value lanes, rowCount; ///< Its queries, and without those that repeat the last.
  llvm::SmallVector<mlir::Value> positions; ///< Its batch dims and its first query.
  mlir::Value strip;                        ///< Scores and weights, [key][query].
  mlir::Value queries;                      ///< [feature][query].
  mlir::Value statistics;                   ///< [4][query].
  mlir::Value sums;                         ///< [query][feature]; of pairs turned.
  mlir::Value out;                          ///< Its rows.
  llvm::SmallVector<mlir::Value> further;   ///< Like `out`.
};

/// The state of one kernel's tiling. It lives while `tileAttention` runs.
struct AttentionTiling {
  AttentionTiling(AttentionKernelOp op, const CpuTiling &context, const ScoreFunction &score)
      : op(op), context(context), blocks{context.target}, builder(op), index(builder, op.getLoc()),
        score(score) {}

  /// Weights that need no other score of the row.
  bool isPointwise() {
    return op.getNormaliser() != Normaliser::Softmax && op.getNormaliser() != Normaliser::Hardmax;
  }
  /// A score times this is an exponent of 2 in softmax; those of hardmax stay equal where they are.
  double unit() { return op.getNormaliser() == Normaliser::Softmax ? 1.4426950408889634 : 1; }
  /// Whether the query block holds the score's factor, and the unit.
  bool isScaled() {
    return score.factor && score.isProduct && op.getBias().empty() && op.getCap().empty();
  }
  /// Sets the `unit` of a tile: what scores that stand in strips are still to be multiplied with. A
  /// bias may be the lowest float, which has no multiple.
  void setUnit(mlir::Operation *tile) {
    if (!isScaled() && unit() != 1)
      tile->setAttr("unit", builder.getF32FloatAttr(static_cast<float>(unit())));
  }

  /// While the result lives, what is written is for a term.
  AtPlace writeFor(AttentionTerm term) { return AtPlace({&index.loc}, atTerm(op.getLoc(), term)); }

  AttentionKernelOp op;
  const CpuTiling &context;
  RegisterBlocks blocks;
  mlir::OpBuilder builder; ///< Before the op.
  IndexBuilder index;
  ScoreFunction score;
  KernelChoice chosen; ///< Measured.
  std::string reason;  ///< For the lowering.
  AttentionShape shape;
  int64_t features = 0, valueFeatures = 0;
  mlir::Value zero, queryCount, keyCount;
  mlir::Value keyCountReal; ///< In f32, where the normaliser divides by it.
  QueryDivision division;
  HeadBuffers head;
  QueryGroup group;
  QueryBlock block;
  mlir::Value keysBefore; ///< Of the tile those whose scores stand.
  mlir::Value multiplied; ///< memref<index>: words of weights that no longer wait; or null.
};

} // namespace attn
