// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the loops of one attention kernel over its tiles: AttentionBlocks.cpp which blocks of
// queries a thread takes, group by group; TileAttention.cpp what becomes of a group, tile by tile
// of keys; TileScores.cpp the tiles themselves, with the hooks.
#pragma once

#include "compiler/cpu/attention/Attention.h"
#include "compiler/cpu/attention/RegisterBlocks.h"
#include "compiler/kernels/ScoreFunction.h"
#include "compiler/transforms/AttentionShape.h"
#include "compiler/transforms/MaskIntervals.h"
#include <set>

namespace attn {

/// Whether a kernel's products are of pairs of bf16.
bool multipliesPairs(AttentionKernelOp op, const CpuTarget &target);

class AttentionTiling {
public:
  AttentionTiling(AttentionKernelOp op, const CpuTiling &context, const ScoreFunction &score)
      : op(op), context(context), blocks{context.target}, builder(op), index(builder, op.getLoc()),
        score(score) {}

  mlir::LogicalResult run();
  /// The tiles chosen, in words.
  std::string choice();

private:
  /// How far a pair's score is taken.
  enum class Stage { Raw, Biased, Capped, Weight, MaskedWeight };
  /// A tile of values as they are multiplied, with what is known of them then.
  struct ValueTile {
    mlir::Value rows, keys;
    mlir::Value areFinite; ///< of pairs
  };

  // AttentionBlocks.cpp
  std::set<int64_t> countsOf(int64_t queries) const;
  llvm::SmallVector<int64_t> blockSizes() const;
  void divideQueries();
  mlir::Value firstOf(mlir::Value block);
  void tileGroups();
  void enterHead(mlir::Value head);
  void enterBlock(mlir::Value number);
  void forBlocks(llvm::function_ref<void(int64_t queries)> body);

  // TileAttention.cpp
  mlir::LogicalResult check();
  mlir::Value headOf(mlir::Value buffer, mlir::ValueRange batch);
  mlir::Value rowsOf(mlir::Value matrix, mlir::Value from, mlir::Value count);
  mlir::Value scratchOf(int64_t at, mlir::Value part, int64_t rows, int64_t columns);
  bool isPacked();
  void tileGroup();
  void tileBlocks();
  mlir::Value packedOf(int64_t at, mlir::Value from, int64_t rows, int64_t columns);
  void beginBlock(int64_t queries);
  void tileStanding();
  void tileOnline();
  void tileWaiting(mlir::Value keyTile, const ValueTile &valueTile, mlir::Value from,
                   mlir::Value keys, int64_t queries);
  void tileFurther(int64_t queries);
  mlir::Value keysOf(mlir::Value from, mlir::Value count);
  ValueTile valuesOf(mlir::Value from, mlir::Value count);
  void forParts(mlir::Value all, int64_t size,
                llvm::function_ref<void(mlir::Value from, mlir::Value count)> part);
  void forKeyTiles(llvm::function_ref<void(mlir::Value from, mlir::Value keys)> tile) {
    forParts(keyCount, shape.tile, tile);
  }
  Interval boundGroup(mlir::Value firstKey, mlir::Value keys);
  Interval boundTile(mlir::Value firstQuery, mlir::Value lastQuery, mlir::Value firstKey,
                     mlir::Value keys);

  // TileScores.cpp
  mlir::Value vectorOf(ElementOp element, mlir::ValueRange batch);
  /// The positions that a tile's region counts from: of the batch dims, of the block's first query
  /// and its last one.
  llvm::SmallVector<mlir::Value> queryPositions();
  void tileReset(int64_t queries);
  void tileDots(mlir::Value keyTile, mlir::Value scores, mlir::Value keys, int64_t queries);
  bool canWeigh();
  void tileScores(mlir::Value keyTile, mlir::Value scores, mlir::Value firstKey, mlir::Value keys,
                  int64_t queries, Stage stage, bool weighs = false);
  void tilePairs(mlir::Value a, mlir::Value b, mlir::Value into, mlir::Value rows, mlir::Value from,
                 mlir::Value to, int64_t queries, bool accumulate, bool selects = false);
  void prefetchAhead(mlir::Value from, mlir::Value row, int64_t size);
  void forKeyGroups(mlir::Value keys, int64_t size,
                    llvm::function_ref<void(mlir::Value, int64_t, bool)> body);
  void tileSoftmax(mlir::Value scores, mlir::Value weights, mlir::Value keys, int64_t queries,
                   bool online);
  void tileZeros(int64_t queries);
  /// Weights of all keys of the tile. Where `isLive` does not hold, a mask empties some of them.
  void tileValues(mlir::Value weights, const ValueTile &tile, int64_t queries, bool rescale,
                  mlir::Value isLive);
  void tileProducts(mlir::Value weights, mlir::Value valueTile, mlir::Value keys, int64_t queries,
                    bool accumulate, bool selects);
  void emitScore(mlir::Region &region, Stage stage);
  mlir::Value emitWeight(mlir::Value score);
  mlir::Value inlined(mlir::Region &hook, mlir::ValueRange own, mlir::ValueRange positions);

  /// Weights that need no other score of the row.
  bool isPointwise() {
    return op.getNormaliser() != Normaliser::Softmax && op.getNormaliser() != Normaliser::Hardmax;
  }
  /// Scores of softmax are in base 2 from the tile on; those of hardmax stay equal where they are.
  double unit() { return op.getNormaliser() == Normaliser::Softmax ? 1.4426950408889634 : 1; }
  /// Whether the query block holds the score's factor, and the unit.
  bool isScaled() {
    return score.factor && score.isProduct && op.getBias().empty() && op.getCap().empty();
  }

  AttentionKernelOp op;
  const CpuTiling &context;
  RegisterBlocks blocks;
  mlir::OpBuilder builder;
  IndexBuilder index;
  ScoreFunction score;
  KernelChoice chosen; // measured
  std::string reason;  // for the lowering
  AttentionShape shape;
  int64_t granule, features, valueFeatures;
  int64_t groupSize;         // blocks, at most
  bool isGroupMajor = false; // units are ordered by group, then by head
  mlir::Value zero, queryCount, keyCount, keyCountReal;
  mlir::Value blockCount; // of a head
  // A head's queries are divided into parts, and these into blocks.
  mlir::Value partQueries, partVectors, partBlocks;
  // Of a head.
  llvm::SmallVector<mlir::Value> batch;
  mlir::Value query, key, value;
  llvm::SmallVector<mlir::Value> vectors; // that the score reads
  // Of a group.
  mlir::Value firstBlock, groupBlocks, turns;
  bool areKeysPacked = false; // all of the head
  mlir::Value areAllFinite;   // values that are packed
  // Of a tile.
  mlir::Value keysBefore; // of those whose scores stand
  mlir::Value multiplied; // words of weights that no longer wait
  // Of a block.
  mlir::Value turn; // how many of the group went through the tile of keys before it
  mlir::Value lanes, rowCount;
  llvm::SmallVector<mlir::Value> positions; // its batch dims and its first query
  mlir::Value strip, block, statistics, sums, out;
  llvm::SmallVector<mlir::Value> further; // like out
};

} // namespace attn
