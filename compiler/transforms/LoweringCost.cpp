// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lowerings of an attention cost, by a model of a core in which the products take as long in
// all of them, and what fits into the first-level cache costs nothing beside. A tile of keys does
// by definition (AttentionShape::tileKeys); scores of more keys, which are stored, read for the
// maximum, read and stored as weights and read again, and keys and values that come back for each
// group of queries, move to and from the second level. Online softmax multiplies all sums for each
// tile of keys.
#include "compiler/transforms/AttentionShape.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace attn;

/// What a core computes and moves in a nanosecond: within the first-level cache, from the second,
/// from the third. Round numbers, none of them measured: estimates are there to be compared with
/// each other, and rank as the runs of tools/bench/lowerings.py did (compiler/cpu/README.md).
static constexpr double flopPerNs = 100, pairSpeed = 2, tileSpeed = 20;
static constexpr double nearBytesPerNs = 400, farBytesPerNs = 64, sharedBytesPerNs = 20;
static constexpr int64_t scorePasses = 4;

double attn::estimateLowering(const AttentionProblem &problem, AttentionLowering lowering) {
  auto known = [](int64_t count) { return count < 0 ? TargetModel::tokens : count; };
  AttentionProblem sized = problem;
  sized.queryCount = known(problem.queryCount), sized.keyCount = known(problem.keyCount);
  double queries = double(sized.queryCount), keys = double(sized.keyCount),
         features = double(problem.features + problem.valueFeatures);
  double blocks = double(llvm::divideCeil(sized.queryCount, AttentionShape::queries)),
         groups = std::ceil(blocks / double(blocksOf(lowering, sized)));
  double speed = problem.inTiles ? tileSpeed : problem.pairs ? pairSpeed : 1;
  double time = 2 * queries * keys * features / (flopPerNs * speed);
  bool isOneTile = sized.keyCount <= AttentionShape::tileKeys;
  if (!isOneTile)
    time += groups * keys * features * TargetModel::floatBytes / farBytesPerNs;
  double scores = queries * keys * TargetModel::floatBytes * scorePasses;
  double tiles = double(llvm::divideCeil(sized.keyCount, AttentionShape::tileKeys)),
         sums = queries * double(problem.valueFeatures) * 2 * TargetModel::floatBytes;
  switch (lowering) {
  case AttentionLowering::Strip:
    return time + (isOneTile ? 0 : scores / farBytesPerNs);
  case AttentionLowering::Online:
    return time + tiles * sums / nearBytesPerNs;
  case AttentionLowering::Unfused: // of so many blocks that only the third level holds them
    return time + scores / sharedBytesPerNs;
  }
  return time;
}

/// Unfused never was the fastest, and has the most scratch: it is for those who ask for it.
AttentionLowering attn::chooseLowering(const AttentionProblem &problem) {
  double strip = estimateLowering(problem, AttentionLowering::Strip),
         online = estimateLowering(problem, AttentionLowering::Online);
  return strip <= online ? AttentionLowering::Strip : AttentionLowering::Online;
}
