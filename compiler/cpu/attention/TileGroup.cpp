// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: what becomes of a group of blocks of queries (AttentionBlocks.cpp),
// tile by tile of keys. Scores stand as strips [key][query] in the thread's scratch: those of one
// tile of keys after the other, with what has been summed rescaled in between (online softmax:
// Milakov and Gimelshein 2018; Dao et al. 2022), not at all where a weight depends on its score
// alone
//
//   query_tile, reset_tile of each block
//   -> for a tile of keys: pack_tile, then score_tile -> softmax_tile -> value_tile of each block
//   -> output_tile of each block
//
// or all of them (strip, unfused)
//
//   -> score_tile over all keys -> softmax_tile -> for a tile of keys: pack_tile, value_tile
//
// Where products are of pairs of bf16, keys and values are rounded as they are packed,
//
//   round_keys_tile, turn_values_tile, then pair_tile, score_tile -> softmax_tile -> rescale_tile,
//   pair_tile of each block
//
// and in tile registers, where those of a head fit into a cache, all of them before the first
// block: then one block after the other goes through them.
//
// Scores and weights that are returned are stored tile by tile.
#include "compiler/cpu/attention/TileGroup.h"
#include "compiler/cpu/attention/AttentionBlocks.h"
#include "compiler/cpu/attention/AttentionViews.h"
#include "compiler/cpu/attention/KeyTiles.h"
#include "compiler/cpu/attention/TileProducts.h"
#include "compiler/cpu/attention/TileScores.h"
#include "compiler/cpu/attention/WaitingWeights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace attn {

static void beginBlock(AttentionTiling &tiling, int64_t queries) {
  IndexBuilder &index = tiling.index;
  int64_t width = tiling.context.target.lanes;
  llvm::APFloat scale(
      static_cast<float>(tiling.isScaled() ? *tiling.score.factor * tiling.unit() : 1.0));
  for (int64_t lane = 0; lane < queries; lane += width) {
    AtPlace place = tiling.writeFor(AttentionTerm::Score);
    Value at = index.constant(lane);
    QueryTileOp::create(tiling.builder, index.loc, tiling.head.query,
                        index.add(tiling.block.positions.back(), at), tiling.block.queries, at,
                        static_cast<uint64_t>(width), scale, tiling.shape.pairs);
  }
  tileReset(tiling, queries);
  tileZeros(tiling, queries);
}

/// All scores, then all weights, then all products.
static void tileStanding(AttentionTiling &tiling) {
  const AttentionShape &shape = tiling.shape;
  IndexBuilder &index = tiling.index;
  QueryBlock &block = tiling.block;
  if (shape.blocks == 1 && !shape.pairs) {
    forBlocks(tiling, [&](int64_t queries) {
      tileScores(tiling, tiling.head.key, block.strip, tiling.zero, tiling.keyCount, queries,
                 Stage::Weight);
      tileSoftmax(tiling, block.strip, block.strip, tiling.keyCount, queries, /*online=*/false);
    });
  } else {
    forKeyTiles(tiling, [&](Value from, Value keys) {
      Value keyTile = keysOf(tiling, from, keys);
      forBlocks(tiling, [&](int64_t queries) {
        Value scores = rowsOf(tiling, block.strip, from, keys);
        tileDots(tiling, keyTile, scores, keys, queries);
        tileScores(tiling, keyTile, scores, from, keys, queries, Stage::Weight);
      });
    });
    forBlocks(tiling, [&](int64_t queries) {
      tileSoftmax(tiling, block.strip, block.strip, tiling.keyCount, queries, /*online=*/false);
    });
  }
  AtPlace place = tiling.writeFor(AttentionTerm::Values);
  forKeyTiles(tiling, [&](Value from, Value keys) {
    ValueTile values = valuesOf(tiling, from, keys);
    Value first = shape.pairs ? index.div(from, index.constant(2)) : from;
    forBlocks(tiling, [&](int64_t queries) {
      tileValues(tiling, rowsOf(tiling, block.strip, first, keys), values, queries, false,
                 index.truth(true));
    });
  });
}

/// Under a mask, tiles that it empties are passed by, first for the whole group, and those that it
/// fills are computed without it. Where weights are returned, every tile's are stored.
static void tileOnline(AttentionTiling &tiling) {
  OpBuilder &builder = tiling.builder;
  IndexBuilder &index = tiling.index;
  QueryBlock &block = tiling.block;
  bool isMasked = !tiling.op.getMask().empty(), isRow = !tiling.isPointwise(),
       isGroup = tiling.shape.blocks > 1;
  std::optional<size_t> returned; // the weights' place
  for (auto [i, kind] : llvm::enumerate(tiling.op.returnedKinds()))
    if (kind == Returned::Weights)
      returned = i;
  bool passesBy = isMasked && !returned;
  bool weighs = isRow && !returned && canWeigh(tiling);
  forKeyTiles(tiling, [&](Value from, Value keys) {
    Value keyTile;
    ValueTile valueTile;
    auto tileBlock = [&](int64_t queries, const Interval &live) {
      if (tiling.shape.weightsWait())
        return tileWaiting(tiling, keyTile, valueTile, from, keys, queries);
      auto scores = [&](Stage stage) {
        tileScores(tiling, keyTile, block.strip, from, keys, queries, stage, weighs);
      };
      tileDots(tiling, keyTile, block.strip, keys, queries);
      chooseByMask(
          tiling, live.lo, [&] { scores(Stage::Weight); }, [&] { scores(Stage::MaskedWeight); });
      if (returned) {
        AtPlace place = tiling.writeFor(AttentionTerm::Weight);
        StoreTileOp::create(builder, index.loc, block.strip, block.further[*returned], from, keys);
      }
      if (isRow && !weighs)
        tileSoftmax(tiling, block.strip, block.strip, keys, queries, /*online=*/true);
      tileValues(tiling, block.strip, valueTile, queries, isRow, live.lo);
    };
    Value always = index.truth(true), never = index.truth(false);
    auto bring = [&] {
      keyTile = keysOf(tiling, from, keys);
      valueTile = valuesOf(tiling, from, keys);
    };
    if (!passesBy) {
      bring();
      return forBlocks(tiling, [&](int64_t queries) {
        tileBlock(queries, {isMasked ? never : always, always});
      });
    }
    Value one = index.constant(1);
    Interval group = boundGroup(tiling, from, keys);
    chooseByMask(tiling, group.hi, [&] {
      bring();
      memref::StoreOp::create(builder, index.loc, tiling.zero, tiling.group.turns);
      forBlocks(tiling, [&](int64_t queries) {
        if (!isGroup)
          return tileBlock(queries, group);
        Value last = index.sub(index.add(block.positions.back(), block.rowCount), one);
        Interval live = boundTile(tiling, block.positions.back(), last, from, keys);
        chooseByMask(tiling, live.hi, [&] {
          block.turn = memref::LoadOp::create(builder, index.loc, tiling.group.turns);
          tileBlock(queries, live);
          memref::StoreOp::create(builder, index.loc, index.add(block.turn, one),
                                  tiling.group.turns);
        });
      });
    });
  });
}

/// What is returned beside the output, once the block's statistics are known. Scores come last:
/// they are computed again, for all pairs, and the tiles that do so change the maxima.
static void tileFurther(AttentionTiling &tiling, int64_t queries) {
  OpBuilder &builder = tiling.builder;
  IndexBuilder &index = tiling.index;
  QueryBlock &block = tiling.block;
  auto results = llvm::zip_equal(tiling.op.returnedKinds(), block.further);
  for (auto [kind, rows] : results) {
    AtPlace place = tiling.writeFor(AttentionTerm::Weight);
    if (kind == Returned::LogSumExp)
      tiling.setUnit(LseTileOp::create(builder, index.loc, block.statistics, rows, queries));
    else if (kind == Returned::Weights && !tiling.isPointwise())
      tiling.setUnit(WeightRowsOp::create(builder, index.loc, rows, block.statistics,
                                          tiling.op.getNormaliser() == Normaliser::Hardmax));
  }
  AtPlace place = tiling.writeFor(AttentionTerm::Score);
  for (auto [kind, buffer] : results) {
    if (kind == Returned::LogSumExp || kind == Returned::Weights)
      continue;
    Value rows = buffer;
    Stage stage = kind == Returned::Raw      ? Stage::Raw
                  : kind == Returned::Biased ? Stage::Biased
                                             : Stage::Capped;
    forKeyTiles(tiling, [&](Value from, Value keys) {
      Value keyTile = keysOf(tiling, from, keys);
      tileDots(tiling, keyTile, block.strip, keys, queries);
      tileScores(tiling, keyTile, block.strip, from, keys, queries, stage);
      StoreTileOp::create(builder, index.loc, block.strip, rows, from, keys);
    });
  }
}

static void tileBlocks(AttentionTiling &tiling) {
  QueryBlock &block = tiling.block;
  forBlocks(tiling, [&](int64_t queries) { beginBlock(tiling, queries); });
  if (tiling.shape.lowering == AttentionLowering::Online)
    tileOnline(tiling);
  else
    tileStanding(tiling);
  forBlocks(tiling, [&](int64_t queries) {
    AtPlace place = tiling.writeFor(AttentionTerm::Values);
    auto turned = tiling.shape.pairs ? tiling.builder.getI64IntegerAttr(queries) : IntegerAttr();
    OutputTileOp::create(tiling.builder, tiling.index.loc, block.sums, block.statistics, block.out,
                         !tiling.isPointwise(), turned);
    tileFurther(tiling, queries);
  });
}

/// One block after the other where all keys are packed for them first, but for those that a mask
/// empties for all of them.
void tileGroup(AttentionTiling &tiling) {
  OpBuilder &builder = tiling.builder;
  IndexBuilder &index = tiling.index;
  QueryGroup &group = tiling.group;
  if (tiling.shape.packedTiles == 1)
    return tileBlocks(tiling);
  group.areKeysPacked = false;
  memref::StoreOp::create(builder, index.loc, index.truth(true), group.areAllFinite);
  forKeyTiles(tiling, [&](Value from, Value keys) {
    Value isLive =
        tiling.op.getMask().empty() ? index.truth(true) : boundGroup(tiling, from, keys).hi;
    chooseByMask(tiling, isLive, [&] {
      keysOf(tiling, from, keys);
      AtPlace place = tiling.writeFor(AttentionTerm::Values);
      Value areFinite = valuesOf(tiling, from, keys).areFinite,
            before = memref::LoadOp::create(builder, index.loc, group.areAllFinite);
      memref::StoreOp::create(builder, index.loc,
                              arith::AndIOp::create(builder, index.loc, before, areFinite),
                              group.areAllFinite);
    });
  });
  group.areKeysPacked = true;
  Value first = group.first, count = group.count;
  forLoop(index, tiling.zero, count, 1, [&](Value number) {
    group.first = index.add(first, number), group.count = index.constant(1);
    tileBlocks(tiling);
  });
}

} // namespace attn
