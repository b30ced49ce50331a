// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of Hopper's kernel for linears (HopperLinear.cpp), and which one a number of rows
// takes.
//
// Blocks stay on their multiprocessors, so that a kernel takes as long as the block with most
// tiles: a wave that is almost empty costs as much as a full one. Large tiles read rows and weights
// least often; smaller ones may fill the last wave. What a tile costs is an estimate in cycles, of
// the larger of its products and of what it reads of the L2 cache.
#pragma once

#include "compiler/gpu/threads/Hopper.h"
#include "compiler/kernels/LinearShape.h"
#include "compiler/kernels/Loops.h"
#include <vector>

namespace attn {

/// A size of tiles, for one linear.
struct HopperLinearTile {
  static constexpr int64_t groupRows = 64;          ///< of a warp group that multiplies
  static constexpr int64_t depth = swizzleElements; ///< of k in a stage
  static constexpr int64_t barrierBytes = boxAlignment;

  int64_t consumers; ///< warp groups that multiply, each with 64 rows
  int64_t columns;
  int64_t n, steps; ///< columns in all, stages of k
  /// The output goes to memory by the copy engine, 64 columns of each group at a time, of which
  /// shared memory has two.
  bool storesBoxes = false;

  /// The ring of up to 6 stages, or 12 for a tile of one warp group, which has all of k on its way
  /// if it can.
  StageRing ring() const;
  int64_t rows() const { return consumers * groupRows; }
  int64_t threads() const { return (1 + consumers) * warpGroupThreads; }
  int64_t stageBytes() const { return (rows() + columns) * swizzleBytes; }
  static constexpr int64_t boxBytes = groupRows * swizzleBytes;
  int64_t storeBytes() const { return storesBoxes ? 2 * consumers * boxBytes : 0; }
  /// Where what is stored begins, behind the stages.
  int64_t firstStore() const { return barrierBytes + ring().stages * stageBytes(); }
  int64_t sharedBytes() const { return firstStore() + storeBytes(); }
  int64_t across() const { return llvm::divideCeil(n, columns); }
  /// "128x192"
  std::string name() const;

  /// How many neighbouring columns of tiles are a section: a block goes down all rows of one before
  /// it goes on to the next, so that about as many rows as columns are read by all blocks at a
  /// time.
  int64_t sectionWidth(int64_t multiprocessors) const;

  /// An estimate in cycles; `rowCount` rows, on so many multiprocessors.
  int64_t cycles(int64_t rowCount, int64_t multiprocessors) const;
  /// The estimate for a number of rows that is an index value.
  mlir::Value cycles(IndexBuilder index, mlir::Value rowCount, int64_t multiprocessors) const;

  /// The tiles that a linear can have, largest first.
  static std::vector<HopperLinearTile> all(const LinearShape &shape);
  /// The one that `rowCount` rows take.
  static HopperLinearTile best(llvm::ArrayRef<HopperLinearTile> tiles, int64_t rowCount,
                               int64_t multiprocessors);
};

} // namespace attn
