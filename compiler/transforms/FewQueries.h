// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of a few queries, as in decoding: too few to fill the lanes of vectors. There may be
// fewer heads than threads, so the keys of a head are divided into parts, whose sums a second
// kernel combines. How many depends on shapes alone: results do not depend on the threads.
#pragma once

#include "dialect/AttnDialect.h"
#include <cstdint>

namespace attn {

/// What is kept for each query. The state of a part is what it adds to the output: the values'
/// sums, then a vector of sums of weights, and one whose lanes are all the largest score.
struct FewQueriesShape {
  static constexpr int64_t mostQueries = 8, tileKeys = 64;
  /// Weights of a tile of keys, and which of them are live.
  static constexpr int64_t weightFloats = 2 * tileKeys;
  int64_t lanes, valueFeatures;

  int64_t sumFloats() const { return (valueFeatures + lanes - 1) / lanes * lanes; }
  int64_t stateFloats() const { return sumFloats() + 2 * lanes; }
};

/// Whether an attention, or its kernel, has too few queries, and is of products, by softmax, with
/// nothing returned but the output. Counts are dynamic where they are known only at run time.
template <typename AttentionOrKernel> bool areFewQueries(AttentionOrKernel op, int64_t queryCount) {
  auto dots = op.getScore().template getOps<DotOp>();
  return !mlir::ShapedType::isDynamic(queryCount) && queryCount <= FewQueriesShape::mostQueries &&
         llvm::hasSingleElement(dots) && (*dots.begin()).isOfQueryAndKey() &&
         op.getNormaliser() == Normaliser::Softmax && op.getSink().empty() &&
         op.getReturnedAttr() == nullptr;
}

/// How far keys are divided: until there are so many units of work, or parts of a head, or parts
/// have no more keys than the least that are worth it.
struct KeyDivision {
  int64_t wantedUnits, mostParts, leastKeys;

  /// As many threads as decoding has use for; reading fewer keys takes no longer than meeting at a
  /// barrier.
  static KeyDivision ofCpus() { return {64, 16, 256}; }
  /// Two blocks for each of 132 multiprocessors; a tile of keys.
  static KeyDivision ofGpus() { return {264, 64, 64}; }
};

/// The parts that the keys of each of `heads` are divided into.
int64_t keyPartsOf(llvm::ArrayRef<int64_t> heads, int64_t keyCount, KeyDivision division);

} // namespace attn
