// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: a unit is a block of queries of one head. Its scores stand as a strip
// [key][query] in the thread's scratch, either all of them (up to AttentionShape::stripKeys keys)
//
//   query_tile -> reset_tile -> score_tile over all keys -> softmax_tile
//   -> for some keys at a time: pack_tile -> value_tile
//
// or those of one tile of keys after the other, with what has been summed rescaled in between
// (online softmax: Milakov and Gimelshein 2018; Dao et al. 2022), not at all where a weight depends
// on its score alone. Scores and weights that are returned are stored tile by tile.
#include "compiler/Errors.h"
#include "compiler/cpu/AttendFewQueries.h"
#include "compiler/cpu/AttentionTiling.h"
#include "compiler/cpu/KernelRemarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

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

/// [rows][columns] in the thread's scratch.
Value AttentionTiling::scratchOf(int64_t at, int64_t rows, int64_t columns) {
  auto attr = [&](int64_t size) -> OpFoldResult { return builder.getIndexAttr(size); };
  Value flat = viewOf(index, op.getScratch(), {context.thread, attr(at)},
                      {attr(1), attr(rows * columns)}, /*dropped=*/1);
  return memref::ExpandShapeOp::create(builder, index.loc, {rows, columns}, flat, {{0, 1}});
}

/// How many queries a block of `queries` lanes may hold: fewer only in a head's last block.
std::set<int64_t> AttentionTiling::countsOf(int64_t queries) const {
  std::set<int64_t> counts;
  std::optional<int64_t> all = constantIndex(queryCount);
  if (!all) {
    for (int64_t count = 1; count <= queries; ++count)
      counts.insert(count);
    return counts;
  }
  int64_t vectors = llvm::divideCeil(*all, granule),
          blockCount = llvm::divideCeil(vectors, AttentionShape::queries / granule);
  for (int64_t i = 0; i < blockCount; ++i) {
    int64_t from = vectors * i / blockCount * granule,
            to = vectors * (i + 1) / blockCount * granule;
    if (to - from == queries)
      counts.insert(std::min(to, *all) - from);
  }
  return counts;
}

/// Lanes of the blocks that occur.
SmallVector<int64_t> AttentionTiling::blockSizes() const {
  SmallVector<int64_t> sizes;
  for (int64_t queries = granule; queries <= AttentionShape::queries; queries += granule)
    if (!countsOf(queries).empty())
      sizes.push_back(queries);
  return sizes;
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
  shape = AttentionShape::of(constantIndex(keyCount).value_or(-1), features, valueFeatures,
                             AttentionShape::mayBeOneStrip(op));
  granule = constantIndex(queryCount) ? context.target.lanes : 16;

  if (op.getNormaliser() == Normaliser::ReluMean) {
    Value narrow = arith::IndexCastOp::create(builder, index.loc, builder.getI32Type(), keyCount);
    keyCountReal = arith::SIToFPOp::create(builder, index.loc, builder.getF32Type(), narrow);
  }
  strip = scratchOf(shape.stripAt, shape.keys);
  block = scratchOf(shape.queryAt, features);
  statistics = scratchOf(shape.statisticsAt, 4);
  packed = scratchOf(shape.valueAt, shape.valueKeys, shape.packedFeatures);
  Value vectorCount = index.ceilDiv(queryCount, index.constant(granule)),
        blockCount = index.ceilDiv(vectorCount, index.constant(AttentionShape::queries / granule)),
        units = index.mul(index.product(op.getOut(), 0, batch), blockCount);
  forEachUnit(index, units, context.thread, context.threads,
              [&](Value unit) { tileUnit(unit, vectorCount, blockCount); });
  return success();
}

/// Rows [from, from + count) of a further result: a matrix, or one value for each row.
static Value furtherRows(IndexBuilder index, Value buffer, ArrayRef<Value> batch, Value from,
                         Value count) {
  SmallVector<OpFoldResult> offsets(batch.begin(), batch.end()),
      sizes(batch.size(), index.builder.getIndexAttr(1));
  offsets.push_back(from), sizes.push_back(count);
  return viewOf(index, buffer, offsets, sizes, batch.size());
}

/// The blocks of a head differ by at most one vector of queries, so that none is nearly empty.
void AttentionTiling::tileUnit(Value unit, Value vectorCount, Value blockCount) {
  Value i = index.rem(unit, blockCount), next = index.add(i, index.constant(1));
  SmallVector<Value> batch =
      index.delinearize(index.div(unit, blockCount), op.getOut(), 0, op.getBatch());
  query = headOf(op.getQuery(), batch), key = headOf(op.getKey(), batch);
  value = headOf(op.getValue(), batch);
  vectors.clear();
  for (ElementOp vector : score.vectors)
    vectors.push_back(vectorOf(vector, batch));
  Value head = headOf(op.getOut(), batch), size = index.constant(granule);
  Value from = index.mul(index.div(index.mul(vectorCount, i), blockCount), size),
        to = index.mul(index.div(index.mul(vectorCount, next), blockCount), size);
  Value count = index.sub(index.min(to, queryCount), from);
  positions = batch, positions.push_back(from), rowCount = count;
  out = rowsOf(head, from, count);
  further.clear();
  for (Value buffer : op.getFurther())
    further.push_back(furtherRows(index, buffer, batch, from, count));
  switchOn(index, index.sub(to, from), blockSizes(),
           [&](int64_t queries) { tileBlock(from, count, queries); });
}

void AttentionTiling::tileBlock(Value row, Value count, int64_t queries) {
  int64_t lanes = context.target.lanes;
  auto scale = builder.getF32FloatAttr(isScaled() ? *score.factor * unit() : 1.0);
  for (int64_t lane = 0; lane < queries; lane += lanes) {
    Value at = index.constant(lane);
    QueryTileOp::create(builder, index.loc, query, index.add(row, at), block, at,
                        builder.getI64IntegerAttr(lanes), scale);
  }
  tileReset(queries);
  if (shape.online)
    tileOnline(count, queries);
  else
    tileStrip(count, queries);
  tileFurther(count, queries);
}

void AttentionTiling::tileStrip(Value count, int64_t queries) {
  tileScores(key, zero, keyCount, queries, Stage::Weight);
  tileSoftmax(keyCount, queries, /*online=*/false);
  for (int64_t from = 0; from < shape.keys; from += shape.valueKeys) {
    int64_t keys = std::min(shape.valueKeys, shape.keys - from);
    Value at = index.constant(from), size = index.constant(keys);
    tileValues(rowsOf(strip, at, size), rowsOf(value, at, size), size, count, queries, from > 0,
               false, from + keys == shape.keys);
  }
}

/// What the mask says of the unit's queries and `keys` keys from `firstKey` on.
Interval AttentionTiling::boundTile(Value firstKey, Value keys) {
  Value one = index.constant(1);
  SmallVector<Interval> bounds;
  for (Value position : ArrayRef(positions).drop_back())
    bounds.push_back({position, position});
  bounds.push_back({positions.back(), index.sub(index.add(positions.back(), rowCount), one)});
  bounds.push_back({firstKey, index.sub(index.add(firstKey, keys), one)});
  return boundMask(builder, index.loc, op.getMask(), bounds, op.getCaptures());
}

/// All tiles of keys but the last, then that one, whose size may be another.
void AttentionTiling::forKeyTiles(llvm::function_ref<void(Value, Value, bool)> tile) {
  Value size = index.constant(shape.keys), one = index.constant(1);
  Value least = index.builder.createOrFold<arith::MaxUIOp>(index.loc, keyCount, one);
  Value last = index.mul(index.div(index.sub(least, one), size), size);
  forLoop(index, zero, last, shape.keys, [&](Value from) { tile(from, size, false); });
  tile(last, index.sub(keyCount, last), true);
}

/// Under a mask, tiles that it empties are passed by, and those that it fills are computed without
/// it. Where weights are returned, every tile's are stored.
void AttentionTiling::tileOnline(Value count, int64_t queries) {
  tileValues(strip, value, zero, count, queries, false, false, false);
  Value stored;
  for (auto [kind, buffer] : llvm::zip_equal(op.returnedKinds(), further))
    if (kind == Returned::Weights)
      stored = buffer;
  bool isMasked = !op.getMask().empty(), isRow = !isPointwise();
  forKeyTiles([&](Value from, Value keys, bool isLast) {
    Value keyTile = rowsOf(key, from, keys), valueTile = rowsOf(value, from, keys);
    auto scores = [&](Stage stage) { tileScores(keyTile, from, keys, queries, stage); };
    auto values = [&](bool normalise, bool selects) {
      tileValues(strip, valueTile, keys, count, queries, true, isRow, normalise, selects);
    };
    auto weights = [&] {
      if (stored)
        StoreTileOp::create(builder, index.loc, strip, stored, from, keys);
      if (isRow)
        tileSoftmax(keys, queries, /*online=*/true);
    };
    if (!isMasked || stored) {
      scores(isMasked ? Stage::MaskedWeight : Stage::Weight);
      weights();
      return values(isLast && isRow && !isMasked, isMasked);
    }
    Interval live = boundTile(from, keys);
    choose(index, live.hi, [&] {
      choose(index, live.lo, [&] { scores(Stage::Weight); }, [&] { scores(Stage::MaskedWeight); });
      weights();
      choose(index, live.lo, [&] { values(false, false); }, [&] { values(false, true); });
    });
  });
  if (isMasked && isRow) // whichever tile was the last
    tileValues(strip, value, zero, count, queries, true, false, true);
}

/// What is returned beside the output, once the block's statistics are known. Scores come last:
/// they are computed again, for all pairs, and the tiles that do so change the maxima.
void AttentionTiling::tileFurther(Value count, int64_t queries) {
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
    forKeyTiles([&](Value from, Value keys, bool) {
      tileScores(rowsOf(key, from, keys), from, keys, queries, stage);
      StoreTileOp::create(builder, index.loc, strip, rows, from, keys);
    });
  }
}

std::string AttentionTiling::choice() {
  std::string text = isPointwise()           ? "weights of their own in strips of "
                     : !op.getMask().empty() ? "online softmax over live strips of "
                     : shape.online          ? "online softmax over strips of "
                                             : "one strip of ";
  text += std::to_string(shape.keys) + " keys, blocks of " + joinNumbers(blockSizes()) + " queries";
  return isPacked() ? text + ", values packed by " + std::to_string(shape.valueKeys) : text;
}

FailureOr<std::string> attn::tileAttention(AttentionKernelOp op, const TilingContext &context) {
  auto score = ScoreFunction::of(op, op.getScore());
  if (failed(score))
    return failure();
  if (areFewQueries(op, *score))
    return attendFewQueries(op, context, *score);
  AttentionTiling tiling(op, context, *score);
  if (failed(tiling.run()))
    return failure();
  return tiling.choice();
}
