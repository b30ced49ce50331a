// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: every tile op becomes vector code in its place (AttentionTiles.h).
#include "compiler/cpu/attention/AttentionTiles.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// An element that is read once for a tile, outside of its region.
static LogicalResult lowerElement(ElementOp op) {
  OpBuilder builder(op);
  Value element = loadElement(builder, op.getLoc(), op.getTensor(), op.getPositions(), 1);
  op.getResult().replaceAllUsesWith(element);
  op.erase();
  return success();
}

LogicalResult attn::vectorizeAttentionTiles(Operation *root, const CpuTarget &target) {
  SmallVector<Operation *> tiles;
  SmallVector<ElementOp> elements;
  auto isTile = [](Operation *op) {
    return isa<RangeTileOp, QueryTileOp, ResetTileOp, ScoreTileOp, SoftmaxTileOp, PackTileOp,
               ValueTileOp, OutputTileOp, StoreTileOp, WeightRowsOp, LseTileOp, RoundKeysTileOp,
               TurnValuesTileOp, PairTileOp, FactorTileOp, RescaleTileOp>(op);
  };
  root->walk([&](Operation *op) {
    if (isTile(op))
      tiles.push_back(op);
    if (auto element = dyn_cast<ElementOp>(op); element && !isTile(op->getParentOp()))
      elements.push_back(element);
  });
  for (Operation *tile : tiles) {
    TileVectors vectors(tile, target);
    LogicalResult emitted =
        llvm::TypeSwitch<Operation *, LogicalResult>(tile)
            .Case<RangeTileOp, QueryTileOp, ResetTileOp, ScoreTileOp, SoftmaxTileOp, PackTileOp,
                  ValueTileOp, OutputTileOp, StoreTileOp, WeightRowsOp, LseTileOp, RoundKeysTileOp,
                  TurnValuesTileOp, PairTileOp, FactorTileOp, RescaleTileOp>(
                [&](auto op) { return vectorize(vectors, op); });
    if (failed(emitted))
      return failure();
    tile->erase();
  }
  for (ElementOp element : elements)
    if (failed(lowerElement(element)))
      return failure();
  return success();
}
