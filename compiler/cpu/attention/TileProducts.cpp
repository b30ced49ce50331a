// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: the tiles of a block's products, of weights with values and of pairs
// of bf16, cut so that sums stay in registers.
#include "compiler/cpu/attention/TileProducts.h"
#include "compiler/cpu/attention/AttentionBlocks.h"
#include "compiler/cpu/attention/AttentionViews.h"
#include "compiler/cpu/vectors/TileRegisters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attn {

/// What may be left of `counts` after groups of `size`.
static SmallVector<int64_t> restsOf(const std::set<int64_t> &counts, int64_t size) {
  std::set<int64_t> rests;
  for (int64_t count : counts)
    rests.insert(count % size);
  return SmallVector<int64_t>(rests.begin(), rests.end());
}

int64_t keysOfGroup(Value keys, int64_t most) {
  int64_t power = llvm::bit_floor(uint64_t(most));
  std::optional<int64_t> known = constantIndex(keys);
  return !known || (*known % most != 0 && *known % power == 0) ? power : most;
}

void forKeyGroups(AttentionTiling &tiling, Value keys, int64_t size,
                  llvm::function_ref<void(Value, int64_t, bool)> body) {
  IndexBuilder &index = tiling.index;
  if (std::optional<int64_t> known = constantIndex(keys))
    return forGroups(index, keys, size, {*known % size},
                     [&](Value row, int64_t group) { body(row, group, false); });
  Value step = index.constant(size), whole = index.mul(index.div(keys, step), step);
  forLoop(index, tiling.zero, whole, size, [&](Value row) { body(row, size, false); });
  Value isRest =
      arith::CmpIOp::create(tiling.builder, index.loc, arith::CmpIPredicate::ult, whole, keys);
  choose(index, isRest, [&] { body(whole, size, true); });
}

void tilePairs(AttentionTiling &tiling, Value a, Value b, Value into, Value rows, Value from,
               Value to, int64_t queries, bool accumulate, bool selects) {
  bool inTiles = tiling.context.target.amx && !selects;
  int64_t most =
      inTiles
          ? TargetModel::tileBlockRows
          : keysOfGroup(rows, tiling.blocks.keys(queries / tiling.context.target.lanes, !selects));
  forKeyGroups(tiling, rows, most, [&](Value row, int64_t size, bool) {
    if (inTiles)
      size = llvm::alignTo(size, TileRegisters::rows);
    PairTileOp::create(tiling.builder, tiling.index.loc, a, b, into, row, tiling.zero, from, to,
                       size, queries, accumulate, selects);
  });
}

static void tileProducts(AttentionTiling &tiling, Value weights, Value valueTile, Value keys,
                         int64_t queries, bool accumulate, bool selects) {
  IndexBuilder &index = tiling.index;
  std::set<int64_t> counts = countsOf(tiling, queries);
  Value count = counts.size() == 1 ? index.constant(*counts.begin()) : tiling.block.rowCount;
  auto rowsOfPanel = [&](Value column, int64_t columns) {
    int64_t size = tiling.blocks.rows(columns, selects);
    forGroups(index, count, size, restsOf(counts, size), [&](Value row, int64_t rows) {
      ValueTileOp::create(tiling.builder, index.loc, weights, valueTile, tiling.block.sums, row,
                          column, keys, rows, columns, accumulate, selects);
    });
  };
  int64_t size = tiling.blocks.columns(tiling.valueFeatures);
  forGroups(index, index.constant(tiling.valueFeatures), size, {tiling.valueFeatures % size},
            rowsOfPanel);
}

void tileZeros(AttentionTiling &tiling, int64_t queries) {
  const AttentionShape &shape = tiling.shape;
  QueryBlock &block = tiling.block;
  AtPlace place = tiling.writeFor(AttentionTerm::Values);
  if (shape.pairs)
    tilePairs(
        tiling,
        packedOf(tiling, shape.valueAt, tiling.zero, shape.packedFeatures, shape.tileRoom / 2),
        block.strip, block.sums, tiling.index.constant(tiling.valueFeatures), tiling.zero,
        tiling.zero, queries, false);
  else
    tileProducts(tiling, block.strip, tiling.head.value, tiling.zero, queries, false, false);
}

void tileValues(AttentionTiling &tiling, Value weights, const ValueTile &tile, int64_t queries,
                bool rescale, Value isLive) {
  OpBuilder &builder = tiling.builder;
  IndexBuilder &index = tiling.index;
  QueryBlock &block = tiling.block;
  if (rescale) {
    AtPlace place = tiling.writeFor(AttentionTerm::Weight);
    choose(index, FactorTileOp::create(builder, index.loc, block.statistics, queries), [&] {
      RescaleTileOp::create(builder, index.loc, block.sums, block.statistics, queries,
                            tiling.shape.pairs);
    });
  }
  AtPlace place = tiling.writeFor(AttentionTerm::Values);
  if (!tiling.shape.pairs)
    return choose(
        index, isLive,
        [&] { tileProducts(tiling, weights, tile.rows, tile.keys, queries, true, false); },
        [&] { tileProducts(tiling, weights, tile.rows, tile.keys, queries, true, true); });
  Value words = index.ceilDiv(tile.keys, index.constant(2));
  auto products = [&](bool selects) {
    tilePairs(tiling, tile.rows, weights, block.sums, index.constant(tiling.valueFeatures),
              tiling.zero, words, queries, true, selects);
  };
  if (tiling.op.getMask().empty())
    return products(false);
  Value isPlain = arith::OrIOp::create(builder, index.loc, isLive, tile.areFinite);
  choose(index, isPlain, [&] { products(false); }, [&] { products(true); });
}

} // namespace attn
