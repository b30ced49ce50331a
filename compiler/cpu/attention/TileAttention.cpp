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
#include "compiler/cpu/attention/AttendFewQueries.h"
#include "compiler/cpu/attention/AttentionTiling.h"
#include "compiler/cpu/attention/MaskVerdicts.h"
#include "compiler/kernels/KernelRemarks.h"
#include "compiler/support/Errors.h"
#include "compiler/transforms/FewQueries.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

bool attn::multipliesPairs(AttentionKernelOp op, const CpuTarget &target) {
  return op.getRounds() && target.multipliesPairs() && isOfProducts(op);
}

LogicalResult AttentionTiling::check() {
  for (Value buffer : {op.getQuery(), op.getKey(), op.getValue(), op.getOut()}) {
    auto type = cast<MemRefType>(buffer.getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (type.getRank() != static_cast<int64_t>(op.getBatch()) + 2 ||
        failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1 ||
        type.isDynamicDim(type.getRank() - 1))
      return op.emitError("expected buffers [batch..., rows, features] with features element by "
                          "element, but got ")
             << type;
  }
  unsigned batch = op.getBatch();
  for (ElementOp vector : score.vectors) // the same for all pairs of a unit
    for (Value position : vector.getPositions()) {
      auto argument = dyn_cast<BlockArgument>(position);
      if (argument ? argument.getArgNumber() >= 2 + batch : !constantIndex(position))
        return emitErrorOf(ErrorKind::Input, op.getLoc())
               << "a score whose vectors depend on more than the head is not supported yet";
    }
  return success();
}

/// The matrix [rows, features] of one head.
Value AttentionTiling::headOf(Value buffer, ValueRange batch) {
  SmallVector<OpFoldResult> offsets(batch.begin(), batch.end()),
      sizes(batch.size(), builder.getIndexAttr(1));
  return viewOf(index, buffer, offsets, sizes, batch.size());
}

/// Rows [from, from + count) of a matrix.
Value AttentionTiling::rowsOf(Value matrix, Value from, Value count) {
  auto fold = [&](Value size) -> OpFoldResult {
    std::optional<int64_t> known = constantIndex(size);
    return known ? OpFoldResult(builder.getIndexAttr(*known)) : size;
  };
  auto attr = [&](int64_t size) -> OpFoldResult { return builder.getIndexAttr(size); };
  int64_t columns = cast<MemRefType>(matrix.getType()).getDimSize(1);
  return memref::SubViewOp::create(
      builder, index.loc, matrix, ArrayRef<OpFoldResult>{fold(from), attr(0)},
      ArrayRef<OpFoldResult>{fold(count), attr(columns)}, ArrayRef<OpFoldResult>{attr(1), attr(1)});
}

/// [rows][columns] in the thread's scratch: number `part` of several.
Value AttentionTiling::scratchOf(int64_t at, Value part, int64_t rows, int64_t columns) {
  auto attr = [&](int64_t size) -> OpFoldResult { return builder.getIndexAttr(size); };
  Value from = index.add(index.constant(at), index.mul(part, index.constant(rows * columns)));
  std::optional<int64_t> known = constantIndex(from);
  Value flat = viewOf(index, op.getScratch(), {context.thread, known ? attr(*known) : from},
                      {attr(1), attr(rows * columns)}, /*dropped=*/1);
  return memref::ExpandShapeOp::create(builder, index.loc, {rows, columns}, flat, {{0, 1}});
}

/// Whether values are packed first: not for a few queries, nor where they lie together already.
bool AttentionTiling::isPacked() {
  SmallVector<int64_t> strides;
  int64_t offset, fewQueries = 16;
  if (failed(cast<MemRefType>(value.getType()).getStridesAndOffset(strides, offset)))
    return true;
  return constantIndex(queryCount).value_or(fewQueries + 1) > fewQueries &&
         strides[0] != shape.packedFeatures;
}

LogicalResult AttentionTiling::run() {
  if (failed(check()))
    return failure();
  zero = index.constant(0);
  int64_t batch = op.getBatch();
  queryCount = index.dim(op.getOut(), batch);
  keyCount = index.dim(op.getKey(), batch);
  features = cast<MemRefType>(op.getKey().getType()).getShape().back();
  valueFeatures = cast<MemRefType>(op.getValue().getType()).getShape().back();
  auto problem = AttentionProblem::of(op, op.getKey(), op.getValue(), op.getOut(),
                                      multipliesPairs(op, context.target), context.target.amx);
  chosen = choiceFor(op, context.target.name, problem.name());
  shape = AttentionShape::of(problem, op.getLowering(), chosen);
  reason = describeLowering(op, problem, shape.lowering, chosen.get(Knob::Lowering).has_value());
  granule = constantIndex(queryCount) ? context.target.lanes : 16;

  if (op.getNormaliser() == Normaliser::ReluMean) {
    Value narrow = arith::IndexCastOp::create(builder, index.loc, builder.getI32Type(), keyCount);
    keyCountReal = arith::SIToFPOp::create(builder, index.loc, builder.getF32Type(), narrow);
  }
  auto variable = [&](Type type) {
    return memref::AllocaOp::create(builder, index.loc, MemRefType::get({}, type));
  };
  keysBefore = zero;
  if (!op.getMask().empty())
    turns = variable(builder.getIndexType());
  if (shape.weightsWait())
    multiplied = variable(builder.getIndexType());
  if (shape.packedTiles > 1)
    areAllFinite = variable(builder.getI1Type());
  divideQueries();
  tileGroups();
  return success();
}

/// One block after the other where all keys are packed for them first, but for those that a mask
/// empties for all of them.
void AttentionTiling::tileGroup() {
  if (shape.packedTiles == 1)
    return tileBlocks();
  areKeysPacked = false;
  memref::StoreOp::create(builder, index.loc, index.truth(true), areAllFinite);
  forKeyTiles([&](Value from, Value keys) {
    Value isLive = op.getMask().empty() ? index.truth(true) : boundGroup(from, keys).hi;
    choose(index, isLive, [&] {
      keysOf(from, keys);
      Value areFinite = valuesOf(from, keys).areFinite,
            before = memref::LoadOp::create(builder, index.loc, areAllFinite);
      memref::StoreOp::create(builder, index.loc,
                              arith::AndIOp::create(builder, index.loc, before, areFinite),
                              areAllFinite);
    });
  });
  areKeysPacked = true;
  Value first = firstBlock, count = groupBlocks;
  forLoop(index, zero, count, 1, [&](Value number) {
    firstBlock = index.add(first, number), groupBlocks = index.constant(1);
    tileBlocks();
  });
}

void AttentionTiling::tileBlocks() {
  forBlocks([&](int64_t queries) { beginBlock(queries); });
  if (shape.lowering == AttentionLowering::Online)
    tileOnline();
  else
    tileStanding();
  forBlocks([&](int64_t queries) {
    auto turned = shape.pairs ? builder.getI64IntegerAttr(queries) : IntegerAttr();
    OutputTileOp::create(builder, index.loc, sums, statistics, out, !isPointwise(), turned);
    tileFurther(queries);
  });
}

void AttentionTiling::beginBlock(int64_t queries) {
  int64_t width = context.target.lanes;
  llvm::APFloat scale(static_cast<float>(isScaled() ? *score.factor * unit() : 1.0));
  for (int64_t lane = 0; lane < queries; lane += width) {
    Value at = index.constant(lane);
    QueryTileOp::create(builder, index.loc, query, index.add(positions.back(), at), block, at,
                        static_cast<uint64_t>(width), scale, shape.pairs);
  }
  tileReset(queries);
  tileZeros(queries);
}

/// Where the tile that begins with key `from` is packed.
Value AttentionTiling::packedOf(int64_t at, Value from, int64_t rows, int64_t columns) {
  Value tile = shape.packedTiles > 1 ? index.div(from, index.constant(shape.tile)) : zero;
  return scratchOf(at, tile, rows, columns);
}

/// Keys as they are multiplied.
Value AttentionTiling::keysOf(Value from, Value count) {
  Value rows = rowsOf(key, from, count);
  if (!shape.pairs)
    return rows;
  Value packed = packedOf(shape.keyAt, from, shape.tileRoom, shape.blockRows);
  if (!areKeysPacked)
    RoundKeysTileOp::create(builder, index.loc, rows, packed, count);
  return rowsOf(packed, zero, count);
}

/// Values, brought together where that helps.
AttentionTiling::ValueTile AttentionTiling::valuesOf(Value from, Value count) {
  Value rows = rowsOf(value, from, count);
  if (shape.pairs) {
    Value packed = packedOf(shape.valueAt, from, shape.packedFeatures, shape.tileRoom / 2);
    if (areKeysPacked)
      return {packed, count, memref::LoadOp::create(builder, index.loc, areAllFinite)};
    auto turn = TurnValuesTileOp::create(builder, index.loc, rows, packed, count);
    return {packed, count, turn.getAreFinite()};
  }
  if (!isPacked())
    return {rows, count, {}};
  Value packed = packedOf(shape.valueAt, from, shape.tile, shape.packedFeatures);
  PackTileOp::create(builder, index.loc, rows, packed, count);
  return {packed, count, {}};
}

/// All scores, then all weights, then all products.
void AttentionTiling::tileStanding() {
  if (shape.blocks == 1 && !shape.pairs) {
    forBlocks([&](int64_t queries) {
      tileScores(key, strip, zero, keyCount, queries, Stage::Weight);
      tileSoftmax(strip, strip, keyCount, queries, /*online=*/false);
    });
  } else {
    forKeyTiles([&](Value from, Value keys) {
      Value keyTile = keysOf(from, keys);
      forBlocks([&](int64_t queries) {
        Value scores = rowsOf(strip, from, keys);
        tileDots(keyTile, scores, keys, queries);
        tileScores(keyTile, scores, from, keys, queries, Stage::Weight);
      });
    });
    forBlocks(
        [&](int64_t queries) { tileSoftmax(strip, strip, keyCount, queries, /*online=*/false); });
  }
  forKeyTiles([&](Value from, Value keys) {
    ValueTile values = valuesOf(from, keys);
    Value first = shape.pairs ? index.div(from, index.constant(2)) : from;
    forBlocks([&](int64_t queries) {
      tileValues(rowsOf(strip, first, keys), values, queries, false, index.truth(true));
    });
  });
}

/// What the mask says of some queries and `keys` keys from `firstKey` on.
Interval AttentionTiling::boundTile(Value firstQuery, Value lastQuery, Value firstKey, Value keys) {
  SmallVector<Interval> bounds;
  for (Value position : batch)
    bounds.push_back({position, position});
  bounds.push_back({firstQuery, lastQuery});
  bounds.push_back({firstKey, index.sub(index.add(firstKey, keys), index.constant(1))});
  return boundMask(builder, index.loc, op.getMask(), bounds, op.getCaptures());
}

/// The same for the queries of the group.
Interval AttentionTiling::boundGroup(Value firstKey, Value keys) {
  Value end = index.min(firstOf(index.add(firstBlock, groupBlocks)), queryCount);
  return boundTile(firstOf(firstBlock), index.sub(end, index.constant(1)), firstKey, keys);
}

/// Parts of `size`; where it is known how many there are, the last one may have code of its own.
void AttentionTiling::forParts(Value all, int64_t size,
                               llvm::function_ref<void(Value, Value)> part) {
  Value most = index.constant(size);
  std::optional<int64_t> known = constantIndex(all);
  if (!known)
    return forLoop(index, zero, all, size,
                   [&](Value from) { part(from, index.min(most, index.sub(all, from))); });
  int64_t whole = *known / size * size;
  if (whole > 0)
    forLoop(index, zero, index.constant(whole), size, [&](Value from) { part(from, most); });
  if (whole < *known)
    part(index.constant(whole), index.constant(*known - whole));
}

/// Weights of a few keys at a time, which wait for those of the whole tile: sums go to memory and
/// back once, and scores stay where they are read soonest. Those that wait are multiplied before
/// where a maximum grew too much, where a mask empties the next keys, and where values that are not
/// finite are to be passed over.
void AttentionTiling::tileWaiting(Value keyTile, const ValueTile &valueTile, Value from, Value keys,
                                  int64_t queries) {
  bool isMasked = !op.getMask().empty();
  Value one = index.constant(1), two = index.constant(2),
        wordRows = index.constant(shape.tileRoom / 2), scoreRows = index.constant(shape.scoreKeys);
  Value words = rowsOf(strip, zero, wordRows), scores = rowsOf(strip, wordRows, scoreRows);
  auto products = [&](Value first, Value end, bool selects) {
    tilePairs(valueTile.rows, words, sums, index.constant(valueFeatures), first, end, queries,
              /*accumulate=*/true, selects);
  };
  auto multiply = [&](Value end) {
    Value first = memref::LoadOp::create(builder, index.loc, multiplied);
    Value areAny =
        isMasked ? arith::CmpIOp::create(builder, index.loc, arith::CmpIPredicate::ult, first, end)
                 : index.truth(true);
    choose(index, areAny, [&] { products(first, end, false); });
  };
  auto setMultiplied = [&](Value end) {
    memref::StoreOp::create(builder, index.loc, end, multiplied);
  };
  setMultiplied(zero);
  forParts(keys, shape.scoreKeys, [&](Value at, Value count) {
    Value first = index.add(from, at), rows = rowsOf(keyTile, at, count);
    Value word = index.div(at, two), nextWord = index.add(word, index.div(scoreRows, two));
    Interval live{index.truth(true), index.truth(true)};
    if (isMasked)
      live = boundTile(positions.back(), index.sub(index.add(positions.back(), rowCount), one),
                       first, count);
    auto weigh = [&] {
      auto score = [&](Stage stage) { tileScores(rows, scores, first, count, queries, stage); };
      tileDots(rows, scores, count, queries);
      choose(index, live.lo, [&] { score(Stage::Weight); }, [&] { score(Stage::MaskedWeight); });
      tileSoftmax(scores, rowsOf(words, word, index.div(scoreRows, two)), count, queries,
                  /*online=*/true);
      choose(index, FactorTileOp::create(builder, index.loc, statistics, queries), [&] {
        multiply(word);
        RescaleTileOp::create(builder, index.loc, sums, statistics, queries, shape.pairs);
        setMultiplied(word);
      });
      auto multiplyAlone = [&] {
        Value end = index.add(word, index.ceilDiv(count, two));
        choose(
            index, live.lo, [&] { products(word, end, false); },
            [&] { products(word, end, true); });
        setMultiplied(nextWord);
      };
      if (isMasked)
        choose(index, valueTile.areFinite, [] {}, multiplyAlone);
    };
    auto passBy = [&] {
      multiply(word);
      setMultiplied(nextWord);
    };
    keysBefore = at;
    choose(index, live.hi, weigh, passBy);
    keysBefore = zero;
  });
  multiply(index.ceilDiv(keys, two));
}

/// Under a mask, tiles that it empties are passed by, first for the whole group, and those that it
/// fills are computed without it. Where weights are returned, every tile's are stored.
void AttentionTiling::tileOnline() {
  bool isMasked = !op.getMask().empty(), isRow = !isPointwise(), isGroup = shape.blocks > 1;
  std::optional<size_t> returned; // the weights' place
  for (auto [i, kind] : llvm::enumerate(op.returnedKinds()))
    if (kind == Returned::Weights)
      returned = i;
  bool passesBy = isMasked && !returned;
  bool weighs = isRow && !returned && canWeigh();
  forKeyTiles([&](Value from, Value keys) {
    Value keyTile;
    ValueTile valueTile;
    auto tileBlock = [&](int64_t queries, const Interval &live) {
      if (shape.weightsWait())
        return tileWaiting(keyTile, valueTile, from, keys, queries);
      auto scores = [&](Stage stage) {
        tileScores(keyTile, strip, from, keys, queries, stage, weighs);
      };
      tileDots(keyTile, strip, keys, queries);
      choose(index, live.lo, [&] { scores(Stage::Weight); }, [&] { scores(Stage::MaskedWeight); });
      if (returned)
        StoreTileOp::create(builder, index.loc, strip, further[*returned], from, keys);
      if (isRow && !weighs)
        tileSoftmax(strip, strip, keys, queries, /*online=*/true);
      tileValues(strip, valueTile, queries, isRow, live.lo);
    };
    Value always = index.truth(true), never = index.truth(false);
    auto bring = [&] {
      keyTile = keysOf(from, keys);
      valueTile = valuesOf(from, keys);
    };
    if (!passesBy) {
      bring();
      return forBlocks(
          [&](int64_t queries) { tileBlock(queries, {isMasked ? never : always, always}); });
    }
    Value one = index.constant(1);
    Interval group = boundGroup(from, keys);
    choose(index, group.hi, [&] {
      bring();
      memref::StoreOp::create(builder, index.loc, zero, turns);
      forBlocks([&](int64_t queries) {
        if (!isGroup)
          return tileBlock(queries, group);
        Value last = index.sub(index.add(positions.back(), rowCount), one);
        Interval live = boundTile(positions.back(), last, from, keys);
        choose(index, live.hi, [&] {
          turn = memref::LoadOp::create(builder, index.loc, turns);
          tileBlock(queries, live);
          memref::StoreOp::create(builder, index.loc, index.add(turn, one), turns);
        });
      });
    });
  });
}

/// What is returned beside the output, once the block's statistics are known. Scores come last:
/// they are computed again, for all pairs, and the tiles that do so change the maxima.
void AttentionTiling::tileFurther(int64_t queries) {
  auto results = llvm::zip_equal(op.returnedKinds(), further);
  for (auto [kind, rows] : results)
    if (kind == Returned::LogSumExp)
      LseTileOp::create(builder, index.loc, statistics, rows, queries);
    else if (kind == Returned::Weights && !isPointwise())
      WeightRowsOp::create(builder, index.loc, rows, statistics,
                           op.getNormaliser() == Normaliser::Hardmax);
  for (auto [kind, buffer] : results) {
    if (kind == Returned::LogSumExp || kind == Returned::Weights)
      continue;
    Value rows = buffer;
    Stage stage = kind == Returned::Raw      ? Stage::Raw
                  : kind == Returned::Biased ? Stage::Biased
                                             : Stage::Capped;
    forKeyTiles([&](Value from, Value keys) {
      Value keyTile = keysOf(from, keys);
      tileDots(keyTile, strip, keys, queries);
      tileScores(keyTile, strip, from, keys, queries, stage);
      StoreTileOp::create(builder, index.loc, strip, rows, from, keys);
    });
  }
}

std::string AttentionTiling::choice() {
  std::string text = isPointwise() ? "weights of their own in strips of "
                     : shape.lowering == AttentionLowering::Strip   ? "one strip of "
                     : shape.lowering == AttentionLowering::Unfused ? "unfused strips of "
                     : !op.getMask().empty() ? "online softmax over live strips of "
                                             : "online softmax over strips of ";
  bool isOnline = shape.lowering == AttentionLowering::Online;
  int64_t keys = isOnline ? shape.scoreKeys : constantIndex(keyCount).value_or(shape.keys);
  text += std::to_string(keys) + " keys, blocks of " + joinNumbers(blockSizes()) + " queries";
  if (partQueries != queryCount)
    text += " within " + std::to_string(*constantIndex(partQueries));
  if (shape.blocks > 1)
    text += ", up to " + std::to_string(groupSize) + " of them together";
  if (shape.weightsWait())
    text += ", weights waiting for those of " + std::to_string(shape.tile) + " keys";
  if (shape.packedTiles > 1)
    text += ", all keys packed first";
  if (shape.pairs)
    text += ", in pairs of bf16";
  else if (isPacked())
    text += ", values packed by " + std::to_string(shape.tile);
  if (!chosen.empty())
    text += "; tuned: " + choiceText(chosen);
  SmallVector<int64_t> starts;
  if (std::optional<int64_t> blocks = constantIndex(blockCount);
      blocks && *blocks <= mostJudgedTiles) {
    for (int64_t block = 0; block < *blocks; ++block)
      starts.push_back(*constantIndex(firstOf(index.constant(block))));
    starts.push_back(*constantIndex(queryCount));
  }
  text += reason;
  return text + describeVerdicts(op, starts, tileStarts(constantIndex(keyCount), shape.tile));
}

FailureOr<std::string> attn::tileAttention(AttentionKernelOp op, const CpuTiling &context) {
  auto score = ScoreFunction::of(op, op.getScore());
  if (failed(score))
    return failure();
  int64_t batch = static_cast<int64_t>(op.getBatch());
  if (areFewQueries(op, cast<MemRefType>(op.getOut().getType()).getDimSize(batch)))
    return attendFewQueries(op, context, *score);
  AttentionTiling tiling(op, context, *score);
  if (failed(tiling.run()))
    return failure();
  return tiling.choice();
}
