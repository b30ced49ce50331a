// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/transforms/AttentionShape.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace attn;

/// Blocks of an online group, at most, and of their queries and sums: a quarter of the L2 cache.
static constexpr int64_t onlineBlocks = 8, onlineBytes = int64_t(1) << 18;
/// Of an unfused group's scores.
static constexpr int64_t unfusedBytes = int64_t(4) << 20;

AttentionLowering attn::chooseLowering(const AttentionProblem &problem) {
  return problem.keyCount <= AttentionShape::tileKeys ? AttentionLowering::Strip
                                                      : AttentionLowering::Online;
}

/// Tiles of about equal size, a multiple of 8.
static int64_t evenTile(int64_t keyCount, int64_t most) {
  if (keyCount < 0)
    return most;
  int64_t tiles = std::max<int64_t>(llvm::divideCeil(keyCount, most), 1);
  return std::max<int64_t>(llvm::alignTo(llvm::divideCeil(keyCount, tiles), 8), 8);
}

static int64_t blocksOf(AttentionLowering lowering, const AttentionProblem &problem) {
  int64_t most = 1;
  if (lowering == AttentionLowering::Online)
    most = std::min(onlineBlocks, onlineBytes / (4 * AttentionShape::queries *
                                                 (problem.features + problem.valueFeatures)));
  if (lowering == AttentionLowering::Unfused)
    most = unfusedBytes / (4 * problem.keyCount * AttentionShape::queries);
  if (problem.queryCount >= 0)
    most = std::min(most, int64_t(llvm::divideCeil(problem.queryCount, AttentionShape::queries)));
  return std::max<int64_t>(most, 1);
}

AttentionShape AttentionShape::of(const AttentionProblem &problem,
                                  std::optional<AttentionLowering> asked) {
  AttentionShape shape;
  bool mayStand = problem.mayBeOneStrip && problem.keyCount >= 0;
  shape.lowering = mayStand ? asked.value_or(chooseLowering(problem)) : AttentionLowering::Online;
  shape.blocks = blocksOf(shape.lowering, problem);
  shape.tile = evenTile(problem.keyCount, problem.isMasked ? maskedTileKeys : tileKeys);
  bool isOnline = shape.lowering == AttentionLowering::Online;
  shape.keys = isOnline ? shape.tile : problem.keyCount;
  shape.packedFeatures = llvm::alignTo(problem.valueFeatures, 16);
  shape.stripAt = 0;
  shape.queryAt = (isOnline ? 1 : shape.blocks) * shape.keys * queries;
  shape.statisticsAt = shape.queryAt + shape.blocks * problem.features * queries;
  shape.sumsAt = shape.statisticsAt + shape.blocks * 4 * queries;
  shape.valueAt = shape.sumsAt + shape.blocks * queries * shape.packedFeatures;
  shape.floats = shape.valueAt + shape.tile * shape.packedFeatures;
  return shape;
}
