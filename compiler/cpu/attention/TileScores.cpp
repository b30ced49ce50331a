// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: the tiles of a block, cut so that sums stay in registers, and the
// hooks in them.
#include "compiler/cpu/attention/AttentionTiling.h"
#include "compiler/cpu/vectors/TileRegisters.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <limits>

using namespace mlir;
using namespace attn;

/// What may be left of `counts` after groups of `size`.
static SmallVector<int64_t> restsOf(const std::set<int64_t> &counts, int64_t size) {
  std::set<int64_t> rests;
  for (int64_t count : counts)
    rests.insert(count % size);
  return SmallVector<int64_t>(rests.begin(), rests.end());
}

/// A vector of the score, of this unit.
Value AttentionTiling::vectorOf(ElementOp element, ValueRange batch) {
  auto argument = cast<BlockArgument>(element.getTensor());
  Block &region = op.getScore().front();
  size_t firstCapture = region.getNumArguments() - op.getCaptures().size();
  Value buffer = op.getCaptures()[argument.getArgNumber() - firstCapture];
  SmallVector<OpFoldResult> offsets;
  for (Value position : element.getPositions()) {
    if (auto known = constantIndex(position))
      offsets.push_back(builder.getIndexAttr(*known));
    else
      offsets.push_back(batch[cast<BlockArgument>(position).getArgNumber() - 2]);
  }
  int64_t dropped = offsets.size();
  return viewOf(index, buffer, offsets, SmallVector<OpFoldResult>(dropped, builder.getIndexAttr(1)),
                dropped);
}

SmallVector<Value> AttentionTiling::queryPositions() {
  SmallVector<Value> places = positions;
  places.push_back(index.sub(index.add(positions.back(), rowCount), index.constant(1)));
  return places;
}

/// A hook's value for its own arguments and positions.
Value AttentionTiling::inlined(Region &hook, ValueRange own, ValueRange positions) {
  return inlineHook(builder, hook, own, positions, op.getCaptures());
}

void AttentionTiling::tileReset(int64_t queries) {
  bool hasSink = !op.getSink().empty();
  int64_t width = context.target.lanes;
  auto tile = [&](int64_t lane, int64_t width) {
    SmallVector<Value> places;
    if (hasSink) {
      places = queryPositions();
      Value &first = places[places.size() - 2];
      first = index.add(first, index.constant(lane));
    }
    auto reset =
        ResetTileOp::create(builder, index.loc, statistics, index.constant(lane), places, width);
    if (!hasSink)
      return;
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Type> types(positions.size(), builder.getIndexType());
    Block *block = builder.createBlock(&reset.getSink(), {}, types,
                                       SmallVector<Location>(types.size(), index.loc));
    Value sink = inlined(op.getSink(), {}, block->getArguments());
    YieldOp::create(builder, index.loc, sink);
  };
  if (!hasSink)
    return tile(0, queries);
  for (int64_t lane = 0; lane < queries; lane += width)
    tile(lane, width);
}

/// The weight of a score, for normalisers that look at one alone.
Value AttentionTiling::emitWeight(Value score) {
  Location loc = index.loc;
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  };
  switch (op.getNormaliser()) {
  case Normaliser::Sigmoid: {
    Value negated = arith::NegFOp::create(builder, loc, score);
    Value power = math::ExpOp::create(builder, loc, negated);
    Value sum = arith::AddFOp::create(builder, loc, constant(1), power);
    return arith::DivFOp::create(builder, loc, constant(1), sum);
  }
  case Normaliser::Relu:
    return arith::MaximumFOp::create(builder, loc, score, constant(0));
  case Normaliser::ReluMean: {
    Value positive = arith::MaximumFOp::create(builder, loc, score, constant(0));
    return arith::DivFOp::create(builder, loc, positive, keyCountReal);
  }
  default:
    return score;
  }
}

/// What a tile makes of a sum: score, bias, cap, weight, mask, in this order.
void AttentionTiling::emitScore(Region &region, Stage stage) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types(1, builder.getF32Type());
  types.append(positions.size() + 1, builder.getIndexType());
  Block *block =
      builder.createBlock(&region, {}, types, SmallVector<Location>(types.size(), index.loc));
  ValueRange pair = block->getArguments().drop_front();
  Value result = block->getArgument(0);
  if (!isScaled()) {
    IRMapping mapping;
    SmallVector<Value> known(pair);
    llvm::append_range(known, op.getCaptures());
    for (auto [argument, value] :
         llvm::zip_equal(op.getScore().front().getArguments().drop_front(2), known))
      mapping.map(argument, value);
    result = score.emit(result, mapping, builder);
  }
  if (stage != Stage::Raw && !op.getBias().empty())
    result = inlined(op.getBias(), result, pair);
  if (stage != Stage::Raw && stage != Stage::Biased && !op.getCap().empty())
    result = inlined(op.getCap(), result, {});
  bool isWeight = stage == Stage::Weight || stage == Stage::MaskedWeight;
  if (isWeight && isPointwise())
    result = emitWeight(result);
  if (stage == Stage::MaskedWeight) {
    Value isLive = inlined(op.getMask(), {}, pair);
    auto none =
        builder.getF32FloatAttr(isPointwise() ? 0.0f : -std::numeric_limits<float>::infinity());
    result = arith::SelectOp::create(builder, index.loc, isLive, result,
                                     arith::ConstantOp::create(builder, index.loc, none));
  }
  YieldOp::create(builder, index.loc, result);
}

/// Up to `most` keys of a score tile: without a rest where another size leaves one. Where the
/// number is not known, a divisor of AttentionShape::tileKeys.
static int64_t keysOfGroup(Value keys, int64_t most) {
  int64_t power = llvm::bit_floor(uint64_t(most));
  std::optional<int64_t> known = constantIndex(keys);
  return !known || (*known % most != 0 && *known % power == 0) ? power : most;
}

/// The sums of a tile's scores, where they come before these.
void AttentionTiling::tileDots(Value keyTile, Value scores, Value keys, int64_t queries) {
  if (shape.pairs)
    tilePairs(keyTile, block, scores, keys, zero, index.constant(llvm::divideCeil(features, 2)),
              queries, /*accumulate=*/false);
}

/// Whether scores become weights while the next ones are computed: with 32 registers there are some
/// left, and a multiply-add has other units beside it. Sums of pairs are in the strip already.
bool AttentionTiling::canWeigh() {
  return context.target.avx512 && score.isProduct && !shape.pairs && op.getCaptures().empty() &&
         op.getNormaliser() != Normaliser::Hardmax &&
         features >= blocks.accumulators() + RegisterBlocks::lastSteps;
}

void AttentionTiling::tileScores(Value keyTile, Value scores, Value firstKey, Value keys,
                                 int64_t queries, Stage stage, bool weighs) {
  int64_t width = context.target.lanes, count = queries / width,
          parts = llvm::divideCeil(count, RegisterBlocks::queryVectors);
  bool isWeight = stage == Stage::Weight || stage == Stage::MaskedWeight;
  bool needsRegion = stage == Stage::MaskedWeight || !isScaled() || isPointwise();
  // Scaled products are in the unit already; returned scores are in none.
  double factor = isScaled() ? (isWeight ? 1 : 1 / unit()) : (isWeight ? unit() : 1);
  for (int64_t part = 0; part < parts; ++part) {
    int64_t from = count * part / parts, vectorsOfPart = count * (part + 1) / parts - from;
    int64_t size = keysOfGroup(keys, blocks.keys(vectorsOfPart, score.isProduct));
    Value lane = index.constant(from * width);
    auto tile = [&](Value row, int64_t group, bool repeats) {
      if (shape.blocks > 1 && from == 0)
        prefetchAhead(firstKey, row, size);
      SmallVector<Value> places;
      bool hasRegion = needsRegion || factor != 1;
      if (hasRegion) {
        places = queryPositions();
        Value &first = places[places.size() - 2];
        first = index.add(first, lane);
        places.push_back(index.add(firstKey, row));
      }
      auto tile = ScoreTileOp::create(
          builder, index.loc, block, keyTile, scores, statistics, row, lane, vectors, places,
          static_cast<uint64_t>(group), static_cast<uint64_t>(vectorsOfPart * width), repeats,
          shape.pairs, weighs ? size : 0, llvm::APFloat(static_cast<float>(factor)));
      if (!score.isProduct)
        score.emitCombine(tile.getCombine(), builder);
      if (hasRegion)
        emitScore(tile.getScore(), stage);
    };
    forKeyGroups(keys, size, tile);
    if (!weighs)
      continue;
    Value one = index.constant(1), group = index.constant(size);
    Value last = index.mul(index.div(index.sub(keys, one), group), group),
          left = index.sub(keys, last);
    Value rest = rowsOf(scores, last, left);
    SoftmaxTileOp::create(builder, index.loc, rest, rest, statistics, lane, left,
                          vectorsOfPart * width, /*online=*/false, /*more=*/true, /*hard=*/false,
                          /*pairs=*/false);
  }
}

/// Rows of keys and of values of the next tile, into the L2 cache: the rows, which may lie pages
/// apart, are divided among the score tiles of all blocks; under a mask, of the first of those for
/// which the tile is live.
void AttentionTiling::prefetchAhead(Value from, Value row, int64_t size) {
  constexpr int64_t rowsUnderMask = 3;
  int64_t rows = op.getMask().empty() ? 1 : rowsUnderMask,
          steps = llvm::divideCeil(shape.tile, size);
  Value step = index.add(index.mul(turn, index.constant(steps)),
                         index.div(index.add(keysBefore, row), index.constant(size)));
  Value last = index.constant(llvm::divideCeil(shape.tile, rows) - 1);
  Value isLeft = arith::CmpIOp::create(builder, index.loc, arith::CmpIPredicate::ule, step, last);
  auto next = index.add(index.sub(from, keysBefore), index.constant(shape.tile));
  choose(index, isLeft, [&] {
    for (int64_t i = 0; i < rows; ++i) {
      Value ahead =
          index.add(next, index.add(index.mul(step, index.constant(rows)), index.constant(i)));
      for (auto [matrix, columns] : {std::pair(key, features), std::pair(value, valueFeatures)})
        for (int64_t column = 0; column < columns; column += lineElements(matrix))
          memref::PrefetchOp::create(builder, index.loc, matrix,
                                     ValueRange{ahead, index.constant(column)}, /*isWrite=*/false,
                                     /*localityHint=*/2, /*isDataCache=*/true);
    }
  });
}

/// body(from, size, repeats) for groups of keys. Where their number is not known, the last group is
/// as large as the others, with the last key repeated: a tile has room for it.
void AttentionTiling::forKeyGroups(Value keys, int64_t size,
                                   llvm::function_ref<void(Value, int64_t, bool)> body) {
  if (std::optional<int64_t> known = constantIndex(keys))
    return forGroups(index, keys, size, {*known % size},
                     [&](Value row, int64_t group) { body(row, group, false); });
  Value step = index.constant(size), whole = index.mul(index.div(keys, step), step);
  forLoop(index, zero, whole, size, [&](Value row) { body(row, size, false); });
  Value isRest = arith::CmpIOp::create(builder, index.loc, arith::CmpIPredicate::ult, whole, keys);
  choose(index, isRest, [&] { body(whole, size, true); });
}

void AttentionTiling::tileSoftmax(Value scores, Value weights, Value keys, int64_t queries,
                                  bool online) {
  int64_t width = context.target.lanes, count = queries / width,
          parts = llvm::divideCeil(count, blocks.softmaxVectors());
  for (int64_t part = 0; part < parts; ++part) {
    int64_t from = count * part / parts, vectorsOfPart = count * (part + 1) / parts - from;
    SoftmaxTileOp::create(builder, index.loc, scores, weights, statistics,
                          index.constant(from * width), keys, vectorsOfPart * width, online,
                          /*more=*/false, op.getNormaliser() == Normaliser::Hardmax, shape.pairs);
  }
}

/// Products of pairs: rows of `a` with the block's columns of `b`. Behind the last row, `a` and
/// `into` have room for a whole group.
void AttentionTiling::tilePairs(Value a, Value b, Value into, Value rows, Value from, Value to,
                                int64_t queries, bool accumulate, bool selects) {
  bool inTiles = context.target.amx && !selects;
  int64_t most = inTiles ? TargetModel::tileBlockRows
                         : keysOfGroup(rows, blocks.keys(queries / context.target.lanes, !selects));
  forKeyGroups(rows, most, [&](Value row, int64_t size, bool) {
    if (inTiles)
      size = llvm::alignTo(size, TileRegisters::rows);
    PairTileOp::create(builder, index.loc, a, b, into, row, zero, from, to, size, queries,
                       accumulate, selects);
  });
}

void AttentionTiling::tileZeros(int64_t queries) {
  if (shape.pairs)
    tilePairs(packedOf(shape.valueAt, zero, shape.packedFeatures, shape.tileRoom / 2), strip, sums,
              index.constant(valueFeatures), zero, zero, queries, false);
  else
    tileProducts(strip, value, zero, queries, false, false);
}

void AttentionTiling::tileValues(Value weights, const ValueTile &tile, int64_t queries,
                                 bool rescale, Value isLive) {
  if (rescale)
    choose(index, FactorTileOp::create(builder, index.loc, statistics, queries), [&] {
      RescaleTileOp::create(builder, index.loc, sums, statistics, queries, shape.pairs);
    });
  if (!shape.pairs)
    return choose(
        index, isLive, [&] { tileProducts(weights, tile.rows, tile.keys, queries, true, false); },
        [&] { tileProducts(weights, tile.rows, tile.keys, queries, true, true); });
  Value words = index.ceilDiv(tile.keys, index.constant(2));
  auto products = [&](bool selects) {
    tilePairs(tile.rows, weights, sums, index.constant(valueFeatures), zero, words, queries, true,
              selects);
  };
  if (op.getMask().empty())
    return products(false);
  Value isPlain = arith::OrIOp::create(builder, index.loc, isLive, tile.areFinite);
  choose(index, isPlain, [&] { products(false); }, [&] { products(true); });
}

void AttentionTiling::tileProducts(Value weights, Value valueTile, Value keys, int64_t queries,
                                   bool accumulate, bool selects) {
  std::set<int64_t> counts = countsOf(queries);
  Value count = counts.size() == 1 ? index.constant(*counts.begin()) : rowCount;
  auto rowsOfPanel = [&](Value column, int64_t columns) {
    int64_t size = blocks.rows(columns, selects);
    forGroups(index, count, size, restsOf(counts, size), [&](Value row, int64_t rows) {
      ValueTileOp::create(builder, index.loc, weights, valueTile, sums, row, column, keys, rows,
                          columns, accumulate, selects);
    });
  };
  int64_t size = blocks.columns(valueFeatures);
  forGroups(index, index.constant(valueFeatures), size, {valueFeatures % size}, rowsOfPanel);
}
