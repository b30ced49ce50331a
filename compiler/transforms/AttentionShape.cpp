// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An AttentionProblem to an AttentionShape: how many keys and queries a tile has, how many blocks
// form a group, and where everything lies in a thread's scratch.
#include "compiler/transforms/AttentionShape.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace attn;

/// Blocks of an online group, at most, and of their queries and sums: a quarter of the L2 cache.
/// Where there are tile registers, it is twice as large, and what is done once for a group takes
/// longer beside the products.
static constexpr int64_t onlineBlocks = 8, onlineBytes = TargetModel::l2Bytes / 4;
static constexpr int64_t registerBlocks = 24;
/// The most bytes of an unfused group's scores.
static constexpr int64_t unfusedBytes = TargetModel::l3Bytes;
static_assert(AttentionShape::tileKeys == 64 && onlineBytes == 262144);

int64_t attn::mostRows(mlir::Value buffer) {
  auto type = llvm::cast<mlir::MemRefType>(buffer.getType());
  int64_t axis = type.getRank() - 2, most = -1;
  if (!type.isDynamicDim(axis))
    return type.getDimSize(axis);
  auto [strides, offset] = type.getStridesAndOffset();
  for (int64_t dim = 0; dim < axis; ++dim) {
    bool isKnown = !mlir::ShapedType::isDynamic(strides[dim]) &&
                   !mlir::ShapedType::isDynamic(strides[axis]) && type.getDimSize(dim) != 1;
    if (!isKnown || strides[dim] <= strides[axis])
      continue;
    int64_t rows = strides[dim] / strides[axis];
    most = most < 0 ? rows : std::min(most, rows);
  }
  return most;
}

std::string AttentionProblem::name() const {
  auto count = [](int64_t count, llvm::StringRef unit) -> std::string {
    return count < 0 ? unit.str() : llvm::formatv("{0} {1}", count, unit);
  };
  return llvm::formatv("attention, {0}, {1}, {2} -> {3}{4}{5}", count(queryCount, "queries"),
                       count(keyCount, "keys"), features, valueFeatures,
                       isMasked        ? ", masked"
                       : mayBeOneStrip ? ""
                                       : ", online",
                       pairs ? ", bf16" : "");
}

/// Tiles of about equal size, a multiple of `granule`.
static int64_t evenTile(int64_t keyCount, int64_t most, int64_t granule) {
  if (keyCount < 0)
    return most;
  int64_t tiles = std::max<int64_t>(llvm::divideCeil(keyCount, most), 1);
  return std::max<int64_t>(llvm::alignTo(llvm::divideCeil(keyCount, tiles), granule), granule);
}

int64_t attn::blocksOf(AttentionLowering lowering, const AttentionProblem &problem,
                       std::optional<int64_t> chosen) {
  int64_t most = 1;
  if (lowering == AttentionLowering::Online) {
    int64_t bytes = 4 * AttentionShape::queries * (problem.features + problem.valueFeatures);
    most = chosen.value_or(problem.inTiles ? std::min(registerBlocks, 2 * onlineBytes / bytes)
                                           : std::min(onlineBlocks, onlineBytes / bytes));
  }
  if (lowering == AttentionLowering::Unfused)
    most = unfusedBytes / (4 * problem.keyCount * AttentionShape::queries);
  if (problem.queryCount >= 0)
    most = std::min(most, int64_t(llvm::divideCeil(problem.queryCount, AttentionShape::queries)));
  return std::max<int64_t>(most, 1);
}

AttentionShape AttentionShape::of(const AttentionProblem &problem,
                                  std::optional<AttentionLowering> asked,
                                  const KernelChoice &choice) {
  AttentionShape shape;
  bool mayStand = problem.mayBeOneStrip && problem.keyCount >= 0;
  auto chosen = choice.get(Knob::Lowering);
  AttentionLowering wanted = asked    ? *asked
                             : chosen ? static_cast<AttentionLowering>(*chosen)
                                      : chooseLowering(problem);
  shape.lowering = mayStand ? wanted : AttentionLowering::Online;
  shape.blocks = blocksOf(shape.lowering, problem, choice.get(Knob::Blocks));
  bool isOnline = shape.lowering == AttentionLowering::Online;
  bool weightsWait = problem.inTiles && isOnline && problem.weightsMayWait;
  auto setTile = [&](int64_t most, int64_t granule) {
    shape.tile = evenTile(problem.keyCount, choice.get(Knob::Keys).value_or(most), granule);
  };
  shape.pairs = problem.pairs;
  auto room = [&](int64_t count) {
    return shape.pairs ? static_cast<int64_t>(llvm::alignTo(count, pairGranule)) : count;
  };
  shape.blockRows = shape.pairs ? room(problem.features) / 2 : problem.features;
  shape.packedFeatures = llvm::alignTo(problem.valueFeatures, 16);
  auto packedFloats = [&](int64_t keys) {
    return keys * (shape.packedFeatures / 2 + shape.blockRows);
  };
  // Blocks that go through all keys one after the other find their sums in the first-level cache.
  bool areManyQueries = problem.queryCount < 0 || problem.queryCount >= manyQueries;
  bool packsAll =
      problem.inTiles && isOnline && (weightsWait || !problem.isMasked) && areManyQueries &&
      !choice.get(Knob::Blocks) && problem.mostKeys > waitingTileKeys &&
      4 * packedFloats(llvm::alignTo(problem.mostKeys, waitingTileKeys)) <= TargetModel::l2Bytes;
  if (weightsWait)
    setTile(waitingTileKeys, pairGranule);
  else if (packsAll)
    setTile(tileKeys, pairGranule);
  else if (problem.inTiles)
    setTile(problem.isMasked ? maskedTileKeys : registerTileKeys, TargetModel::tileRows);
  else
    setTile(problem.isMasked ? maskedTileKeys : tileKeys, 8);
  shape.packedTiles = packsAll ? llvm::divideCeil(problem.mostKeys, shape.tile) : 1;
  if (packsAll)
    shape.blocks = 1;
  shape.tileRoom = room(shape.tile);
  shape.scoreKeys = weightsWait ? pairGranule : shape.tile;
  shape.keys = shape.weightsWait() ? shape.tileRoom / 2 + shape.scoreKeys
               : isOnline          ? shape.tileRoom
                                   : room(problem.keyCount);
  shape.stripAt = 0;
  shape.queryAt = (isOnline ? 1 : shape.blocks) * shape.keys * queries;
  shape.statisticsAt = shape.queryAt + shape.blocks * shape.blockRows * queries;
  shape.sumsAt = shape.statisticsAt + shape.blocks * 4 * queries;
  shape.valueAt = shape.sumsAt + shape.blocks * queries * shape.packedFeatures;
  shape.keyAt = shape.valueAt +
                shape.packedTiles * shape.tileRoom * shape.packedFeatures / (shape.pairs ? 2 : 1);
  shape.floats =
      shape.keyAt + (shape.pairs ? shape.packedTiles * shape.tileRoom * shape.blockRows : 0);
  return shape;
}
