// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: the tiles of a block's statistics, scores and weights, cut so that
// sums stay in registers.
#include "compiler/cpu/attention/TileScores.h"
#include "compiler/cpu/attention/AttentionViews.h"
#include "compiler/cpu/attention/ScoreStages.h"
#include "compiler/cpu/attention/TileProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace attn {

void tileReset(AttentionTiling &tiling, int64_t queries) {
  OpBuilder &builder = tiling.builder;
  IndexBuilder &index = tiling.index;
  bool hasSink = !tiling.op.getSink().empty();
  int64_t width = tiling.context.target.lanes;
  AtPlace place = tiling.writeFor(AttentionTerm::Weight);
  auto tile = [&](int64_t lane, int64_t width) {
    SmallVector<Value> places;
    if (hasSink) {
      places = queryPositions(tiling);
      Value &first = places[places.size() - 2];
      first = index.add(first, index.constant(lane));
    }
    auto reset = ResetTileOp::create(builder, index.loc, tiling.block.statistics,
                                     index.constant(lane), places, width);
    tiling.setUnit(reset);
    if (!hasSink)
      return;
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Type> types(tiling.block.positions.size(), builder.getIndexType());
    Block *block = builder.createBlock(&reset.getSink(), {}, types,
                                       SmallVector<Location>(types.size(), index.loc));
    Value sink =
        inlined(tiling, AttentionTerm::Weight, tiling.op.getSink(), {}, block->getArguments());
    YieldOp::create(builder, index.loc, sink);
  };
  if (!hasSink)
    return tile(0, queries);
  for (int64_t lane = 0; lane < queries; lane += width)
    tile(lane, width);
}

void tileDots(AttentionTiling &tiling, Value keyTile, Value scores, Value keys, int64_t queries) {
  AtPlace place = tiling.writeFor(AttentionTerm::Score);
  if (tiling.shape.pairs)
    tilePairs(tiling, keyTile, tiling.block.queries, scores, keys, tiling.zero,
              tiling.index.constant(llvm::divideCeil(tiling.features, 2)), queries,
              /*accumulate=*/false);
}

bool canWeigh(AttentionTiling &tiling) {
  return tiling.context.target.avx512 && tiling.score.isProduct && !tiling.shape.pairs &&
         tiling.op.getCaptures().empty() && tiling.op.getNormaliser() != Normaliser::Hardmax &&
         tiling.features >= tiling.blocks.accumulators() + RegisterBlocks::lastSteps;
}

/// Rows of keys and of values of the next tile, into the L2 cache: the rows, which may lie pages
/// apart, are divided among the score tiles of all blocks; under a mask, of the first of those for
/// which the tile is live.
static void prefetchAhead(AttentionTiling &tiling, Value from, Value row, int64_t size) {
  const AttentionShape &shape = tiling.shape;
  IndexBuilder &index = tiling.index;
  constexpr int64_t rowsUnderMask = 3;
  int64_t rows = tiling.op.getMask().empty() ? 1 : rowsUnderMask,
          steps = llvm::divideCeil(shape.tile, size);
  Value step = index.add(index.mul(tiling.block.turn, index.constant(steps)),
                         index.div(index.add(tiling.keysBefore, row), index.constant(size)));
  Value last = index.constant(llvm::divideCeil(shape.tile, rows) - 1);
  Value isLeft =
      arith::CmpIOp::create(tiling.builder, index.loc, arith::CmpIPredicate::ule, step, last);
  auto next = index.add(index.sub(from, tiling.keysBefore), index.constant(shape.tile));
  choose(index, isLeft, [&] {
    for (int64_t i = 0; i < rows; ++i) {
      Value ahead =
          index.add(next, index.add(index.mul(step, index.constant(rows)), index.constant(i)));
      for (auto [term, matrix, columns] :
           {std::tuple(AttentionTerm::Score, tiling.head.key, tiling.features),
            std::tuple(AttentionTerm::Values, tiling.head.value, tiling.valueFeatures)}) {
        AtPlace place = tiling.writeFor(term);
        for (int64_t column = 0; column < columns; column += lineElements(matrix))
          memref::PrefetchOp::create(tiling.builder, index.loc, matrix,
                                     ValueRange{ahead, index.constant(column)}, /*isWrite=*/false,
                                     /*localityHint=*/2, /*isDataCache=*/true);
      }
    }
  });
}

void tileScores(AttentionTiling &tiling, Value keyTile, Value scores, Value firstKey, Value keys,
                int64_t queries, Stage stage, bool weighs) {
  OpBuilder &builder = tiling.builder;
  IndexBuilder &index = tiling.index;
  QueryBlock &block = tiling.block;
  int64_t width = tiling.context.target.lanes, count = queries / width,
          parts = llvm::divideCeil(count, RegisterBlocks::queryVectors);
  bool isWeight = stage == Stage::Weight || stage == Stage::MaskedWeight;
  bool needsRegion = stage == Stage::MaskedWeight || !tiling.isScaled() || tiling.isPointwise();
  // Scaled products are in the unit already; returned scores are in none.
  double factor = tiling.isScaled() && !isWeight ? 1 / tiling.unit() : 1;
  AtPlace place = tiling.writeFor(AttentionTerm::Score);
  for (int64_t part = 0; part < parts; ++part) {
    int64_t from = count * part / parts, vectorsOfPart = count * (part + 1) / parts - from;
    int64_t size = keysOfGroup(keys, tiling.blocks.keys(vectorsOfPart, tiling.score.isProduct));
    // Maxima rise behind groups, so these are the same for any number of queries.
    if (weighs && !constantIndex(keys))
      size = keysOfGroup(keys, tiling.blocks.keys(RegisterBlocks::queryVectors, true));
    Value lane = index.constant(from * width);
    auto tile = [&](Value row, int64_t group, bool repeats) {
      if (tiling.shape.blocks > 1 && from == 0)
        prefetchAhead(tiling, firstKey, row, size);
      SmallVector<Value> places;
      bool hasRegion = needsRegion || factor != 1;
      if (hasRegion) {
        places = queryPositions(tiling);
        Value &first = places[places.size() - 2];
        first = index.add(first, lane);
        places.push_back(index.add(firstKey, row));
      }
      auto tile = ScoreTileOp::create(
          builder, index.loc, block.queries, keyTile, scores, block.statistics, row, lane,
          tiling.head.vectors, places, static_cast<uint64_t>(group),
          static_cast<uint64_t>(vectorsOfPart * width), repeats, tiling.shape.pairs,
          weighs ? size : 0, llvm::APFloat(static_cast<float>(factor)));
      tiling.setUnit(tile);
      if (!tiling.score.isProduct)
        tiling.score.emitCombine(tile.getCombine(), builder);
      if (hasRegion)
        emitScore(tiling, tile.getScore(), stage);
    };
    forKeyGroups(tiling, keys, size, tile);
    if (!weighs)
      continue;
    AtPlace place = tiling.writeFor(AttentionTerm::Weight);
    Value one = index.constant(1), group = index.constant(size);
    Value last = index.mul(index.div(index.sub(keys, one), group), group),
          left = index.sub(keys, last);
    Value rest = rowsOf(tiling, scores, last, left);
    auto more = SoftmaxTileOp::create(builder, index.loc, rest, rest, block.statistics, lane, left,
                                      vectorsOfPart * width, /*online=*/false, /*more=*/true,
                                      /*hard=*/false,
                                      /*pairs=*/false);
    tiling.setUnit(more);
  }
}

void tileSoftmax(AttentionTiling &tiling, Value scores, Value weights, Value keys, int64_t queries,
                 bool online) {
  int64_t width = tiling.context.target.lanes, count = queries / width,
          parts = llvm::divideCeil(count, tiling.blocks.softmaxVectors());
  AtPlace place = tiling.writeFor(AttentionTerm::Weight);
  for (int64_t part = 0; part < parts; ++part) {
    int64_t from = count * part / parts, vectorsOfPart = count * (part + 1) / parts - from;
    auto tile = SoftmaxTileOp::create(
        tiling.builder, tiling.index.loc, scores, weights, tiling.block.statistics,
        tiling.index.constant(from * width), keys, vectorsOfPart * width, online,
        /*more=*/false, tiling.op.getNormaliser() == Normaliser::Hardmax, tiling.shape.pairs);
    tiling.setUnit(tile);
  }
}

} // namespace attn
