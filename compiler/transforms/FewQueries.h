// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of a few queries, as in decoding: too few to fill the lanes of vectors. There may be
// fewer heads than threads, so the keys of a head are divided into parts, whose sums a second
// kernel combines. How many depends on shapes alone: results do not depend on the threads.
#pragma once

#include "dialect/AttnDialect.h"
#include "dialect/Attributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cstdint>

namespace attn {

/// What is kept for each query. The state of a part is what it adds to the output: the values'
/// sums, then a vector of sums of weights, and one whose lanes are all the largest score.
struct FewQueriesShape {
  static constexpr int64_t mostQueries = 8, tileKeys = 64;
  /// The most rows of all heads that share keys, which a GPU takes together.
  static constexpr int64_t mostRowsOnGpus = 256;
  /// Weights of a tile of keys, and which of them are live.
  static constexpr int64_t weightFloats = 2 * tileKeys;
  int64_t lanes, valueFeatures;

  /// Floats of a row of sums, whole vectors, and of the state of a query.
  int64_t sumFloats() const { return (valueFeatures + lanes - 1) / lanes * lanes; }
  int64_t stateFloats() const { return sumFloats() + 2 * lanes; }
  /// Scratch of a thread: weights, and where keys are not divided, states.
  int64_t scratchFloats(int64_t queries, bool dividesKeys) const {
    return queries * (weightFloats + (dividesKeys ? 0 : stateFloats()));
  }
};

/// Whether an attention, or its kernel, weighs inner products of queries and keys by softmax.
template <typename AttentionOrKernel> bool isOfProducts(AttentionOrKernel op) {
  auto dots = op.getScore().template getOps<DotOp>();
  return llvm::hasSingleElement(dots) && (*dots.begin()).isOfQueryAndKey() &&
         op.getNormaliser() == Normaliser::Softmax;
}

/// Whether an attention, or its kernel, is of rows by themselves: its bits do not depend on how
/// many queries there are.
inline bool isOfRows(mlir::Operation *op) {
  auto function = op->getParentOfType<mlir::func::FuncOp>();
  return function && function->hasAttr(attributes::rows);
}

/// Whether an attention, or its kernel, has too few queries, and is of products, with nothing
/// returned but the output. Counts are dynamic where they are known only at run time.
template <typename AttentionOrKernel>
bool areFewQueries(AttentionOrKernel op, int64_t queryCount,
                   int64_t most = FewQueriesShape::mostQueries) {
  return !mlir::ShapedType::isDynamic(queryCount) && queryCount <= most && isOfProducts(op) &&
         op.getSink().empty() && op.getReturnedAttr() == nullptr && !isOfRows(op);
}

/// Whether an attention has more queries than so few, however its axes are divided into heads and
/// rows; of rows by themselves, it is as if.
bool hasManyQueries(AttentionOp op);

/// How far keys are divided: until there are so many units of work, or parts of a head, or parts
/// have no more keys than the least that are worth it. One unit more may take all another turn.
struct KeyDivision {
  int64_t wantedUnits, mostParts, leastKeys;
  bool mayExceed; ///< the units wanted

  /// As many threads as decoding has use for; reading fewer keys takes no longer than meeting at a
  /// barrier.
  static KeyDivision ofCpus() { return {64, 16, 256, true}; }
  /// For so many queries that share keys: one block of Hopper's for each of 132 multiprocessors, or
  /// two of portable instructions, which have few rows. A part is a tile of keys at least, and
  /// reading it takes longer than what its rows leave and WarpCombine reads.
  static KeyDivision ofGpus(int64_t rows) {
    return {rows <= 16 ? 264 : 132, 64, rows <= 16 ? 64 : 4 * rows, false};
  }
};

/// The parts that the keys of each of `heads` are divided into; of dims of batches that are known
/// only at run time, one counts.
int64_t keyPartsOf(llvm::ArrayRef<int64_t> heads, int64_t keyCount, KeyDivision division);

} // namespace attn
