// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: a unit is a block of queries of one head. Its scores stand as a strip
// [key][query] in the thread's scratch, either all of them (up to AttentionShape::stripKeys keys)
//
//   query_tile -> reset_tile -> score_tile over all keys -> softmax_tile
//   -> for some keys at a time: pack_tile -> value_tile
//
// or those of one tile of keys after the other, with what has been summed rescaled in between
// (online softmax: Milakov and Gimelshein 2018; Dao et al. 2022).
#include "compiler/cpu/KernelRemarks.h"
#include "compiler/cpu/Kernels.h"
#include "compiler/cpu/ScoreFunction.h"
#include "compiler/transforms/AttentionShape.h"
#include "compiler/transforms/MaskIntervals.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include <limits>
#include <set>

using namespace mlir;
using namespace attn;

/// if (value == cases[i]) body(cases[i]); the last case is taken for granted.
static void switchOn(IndexBuilder index, Value value, ArrayRef<int64_t> cases,
                     llvm::function_ref<void(int64_t)> body) {
  if (cases.size() == 1)
    return body(cases.front());
  auto op = scf::IndexSwitchOp::create(index.builder, index.loc, TypeRange(), value,
                                       cases.drop_back(), cases.size() - 1);
  OpBuilder::InsertionGuard guard(index.builder);
  for (auto [region, size] : llvm::zip_equal(op->getRegions(), [&] {
         SmallVector<int64_t> order{cases.back()}; // the default region comes first
         llvm::append_range(order, cases.drop_back());
         return order;
       }())) {
    index.builder.createBlock(&region);
    body(size);
    scf::YieldOp::create(index.builder, index.loc);
  }
}

/// body(from, size) for groups of `size` of `count`, then for the rest, whose size is one of
/// `rests`.
static void forGroups(IndexBuilder index, Value count, int64_t size, ArrayRef<int64_t> rests,
                      llvm::function_ref<void(Value, int64_t)> body) {
  Value step = index.constant(size), whole = index.mul(index.div(count, step), step);
  std::optional<int64_t> known = constantIndex(count);
  if (!known || *known >= size)
    forLoop(index, index.constant(0), whole, size, [&](Value from) { body(from, size); });
  if (rests.size() == 1 && rests.front() == 0)
    return;
  switchOn(index, index.sub(count, whole), rests, [&](int64_t rest) {
    if (rest > 0)
      body(whole, rest);
  });
}

/// What may be left of `counts` after groups of `size`.
static SmallVector<int64_t> restsOf(const std::set<int64_t> &counts, int64_t size) {
  std::set<int64_t> rests;
  for (int64_t count : counts)
    rests.insert(count % size);
  return SmallVector<int64_t>(rests.begin(), rests.end());
}

namespace {

/// Sizes of register blocks. Their accumulators take three quarters of the registers.
struct RegisterBlocks {
  const CpuTarget &target;

  int64_t accumulators() const { return target.registers * 3 / 4; }
  /// Keys of a score tile of so many vectors of queries.
  int64_t keys(int64_t vectors) const {
    return std::min<int64_t>(accumulators() / vectors, target.lanes);
  }
  /// Vectors of queries of a score tile, at most.
  static constexpr int64_t queryVectors = 3;
  /// Rows of a value tile.
  int64_t rows(int64_t columns) const {
    int64_t vectors = llvm::divideCeil(columns, target.lanes);
    return std::min<int64_t>(accumulators() / vectors, 12);
  }
  /// Columns of a value tile: that of two sizes which leaves the fuller last tile.
  int64_t columns(int64_t all) const {
    int64_t vectors = llvm::divideCeil(all, target.lanes), large = target.avx512 ? 4 : 3;
    auto last = [&](int64_t size) { return (vectors - 1) % size + 1; };
    int64_t size = last(large - 1) > last(large) ? large - 1 : large;
    return std::min(size * target.lanes, all);
  }
};

class AttentionTiling {
public:
  AttentionTiling(AttentionKernelOp op, const TilingContext &context)
      : op(op), context(context), blocks{context.target}, builder(op), index(builder, op.getLoc()) {
  }

  LogicalResult run();
  /// The tiles chosen, in words.
  std::string choice();

private:
  LogicalResult check();
  Value headOf(Value buffer, ValueRange batch);
  Value rowsOf(Value matrix, Value from, Value count);
  Value scratchOf(int64_t at, int64_t rows, int64_t columns = AttentionShape::queries);
  std::set<int64_t> countsOf(int64_t queries) const;
  SmallVector<int64_t> blockSizes() const;
  bool isPacked();

  void tileUnit(Value unit, Value vectorCount, Value blockCount);
  void tileBlock(Value row, Value count, int64_t queries);
  void tileStrip(Value count, int64_t queries);
  void tileOnline(Value count, int64_t queries);
  void tileScores(Value keyTile, Value firstKey, Value keyCount, int64_t queries, bool isMasked);
  /// Whether the query block holds the score's factor, and scores are in base 2 from there on.
  bool isScaled() { return score.factor && op.getBias().empty(); }
  void emitHooks(Region &region, bool isMasked, size_t positionCount);
  Interval boundTile(Value firstKey, Value keys);
  void onlyIf(Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no = {});
  void tileValues(Value weights, Value valueTile, Value keys, Value count, int64_t queries,
                  bool accumulate, bool rescale, bool normalise, bool selects = false);

  AttentionKernelOp op;
  const TilingContext &context;
  RegisterBlocks blocks;
  OpBuilder builder;
  IndexBuilder index;
  ScoreFunction score;
  AttentionShape shape;
  int64_t granule, features, valueFeatures;
  Value zero, queryCount, keyCount;
  Value query, key, value, out; // of a unit's head; out: of its rows
  SmallVector<Value> positions; // of a unit: its batch dims and its first query
  Value rowCount;               // of a unit
  Value strip, block, statistics, packed;
};

} // namespace

LogicalResult AttentionTiling::check() {
  Block &normaliser = op.getNormaliser().front();
  auto softmax = cast<YieldOp>(normaliser.getTerminator()).getValue().getDefiningOp<SoftmaxOp>();
  if (!softmax || softmax.getInput() != normaliser.getArgument(0))
    return op.emitError("this normaliser of an attention is not supported yet: expected softmax");
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
  auto function = ScoreFunction::of(op, op.getScore());
  if (failed(function))
    return failure();
  score = *function;
  return success();
}

/// The matrix [rows, features] of one head.
Value AttentionTiling::headOf(Value buffer, ValueRange batch) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<OpFoldResult> offsets(batch.begin(), batch.end()),
      sizes(batch.size(), builder.getIndexAttr(1)),
      strides(type.getRank(), builder.getIndexAttr(1));
  for (int64_t d = batch.size(); d < type.getRank(); ++d) {
    offsets.push_back(builder.getIndexAttr(0));
    sizes.push_back(type.isDynamicDim(d) ? OpFoldResult(index.dim(buffer, d))
                                         : builder.getIndexAttr(type.getDimSize(d)));
  }
  auto head = memref::SubViewOp::inferRankReducedResultType(type.getShape().take_back(2), type,
                                                            offsets, sizes, strides);
  return memref::SubViewOp::create(builder, index.loc, cast<MemRefType>(head), buffer, offsets,
                                   sizes, strides);
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
  auto type = cast<MemRefType>(op.getScratch().getType());
  auto attr = [&](int64_t size) -> OpFoldResult { return builder.getIndexAttr(size); };
  SmallVector<OpFoldResult> offsets{context.thread, attr(at)}, sizes{attr(1), attr(rows * columns)},
      strides(2, attr(1));
  auto part = memref::SubViewOp::inferRankReducedResultType({rows * columns}, type, offsets, sizes,
                                                            strides);
  Value flat = memref::SubViewOp::create(builder, index.loc, cast<MemRefType>(part),
                                         op.getScratch(), offsets, sizes, strides);
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
                             !op.getMask().empty());
  granule = constantIndex(queryCount) ? context.target.lanes : 16;

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

/// The blocks of a head differ by at most one vector of queries, so that none is nearly empty.
void AttentionTiling::tileUnit(Value unit, Value vectorCount, Value blockCount) {
  Value i = index.rem(unit, blockCount), next = index.add(i, index.constant(1));
  SmallVector<Value> batch =
      index.delinearize(index.div(unit, blockCount), op.getOut(), 0, op.getBatch());
  query = headOf(op.getQuery(), batch), key = headOf(op.getKey(), batch);
  value = headOf(op.getValue(), batch);
  Value head = headOf(op.getOut(), batch), size = index.constant(granule);
  Value from = index.mul(index.div(index.mul(vectorCount, i), blockCount), size),
        to = index.mul(index.div(index.mul(vectorCount, next), blockCount), size);
  Value count = index.sub(index.min(to, queryCount), from);
  positions = batch, positions.push_back(from), rowCount = count;
  out = rowsOf(head, from, count);
  switchOn(index, index.sub(to, from), blockSizes(),
           [&](int64_t queries) { tileBlock(from, count, queries); });
}

void AttentionTiling::tileBlock(Value row, Value count, int64_t queries) {
  int64_t lanes = context.target.lanes;
  constexpr double log2e = 1.4426950408889634;
  auto scale = builder.getF32FloatAttr(isScaled() ? *score.factor * log2e : 1.0);
  for (int64_t lane = 0; lane < queries; lane += lanes) {
    Value at = index.constant(lane);
    QueryTileOp::create(builder, index.loc, query, index.add(row, at), block, at,
                        builder.getI64IntegerAttr(lanes), scale);
  }
  ResetTileOp::create(builder, index.loc, statistics, zero, queries);
  if (shape.online)
    tileOnline(count, queries);
  else
    tileStrip(count, queries);
}

void AttentionTiling::tileStrip(Value count, int64_t queries) {
  tileScores(key, zero, keyCount, queries, false);
  SoftmaxTileOp::create(builder, index.loc, strip, statistics, zero, keyCount, queries, false);
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
  return boundMask(builder, index.loc, op.getMask(), bounds);
}

/// if (condition) yes() else no(), or one of both where it is known which.
void AttentionTiling::onlyIf(Value condition, llvm::function_ref<void()> yes,
                             llvm::function_ref<void()> no) {
  if (matchPattern(condition, m_One()))
    return yes();
  if (matchPattern(condition, m_Zero()))
    return no ? no() : void();
  auto branch = scf::IfOp::create(builder, index.loc, condition, /*withElseRegion=*/bool(no));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenYield());
  yes();
  if (!no)
    return;
  builder.setInsertionPoint(branch.elseYield());
  no();
}

/// The keys of all tiles but the last, then the last one's. Under a mask, tiles that it empties are
/// passed by, and those that it fills are computed without it.
void AttentionTiling::tileOnline(Value count, int64_t queries) {
  tileValues(strip, value, zero, count, queries, false, false, false);
  Value size = index.constant(shape.keys), one = index.constant(1);
  Value least = index.builder.createOrFold<arith::MaxUIOp>(index.loc, keyCount, one);
  Value last = index.mul(index.div(index.sub(least, one), size), size);
  auto tile = [&](Value from, Value keys, bool normalise) {
    Value keyTile = rowsOf(key, from, keys), valueTile = rowsOf(value, from, keys);
    auto softmax = [&] {
      SoftmaxTileOp::create(builder, index.loc, strip, statistics, zero, keys, queries, true);
    };
    if (op.getMask().empty()) {
      tileScores(keyTile, from, keys, queries, false);
      softmax();
      return tileValues(strip, valueTile, keys, count, queries, true, true, normalise);
    }
    Interval live = boundTile(from, keys);
    auto scores = [&](bool isMasked) { tileScores(keyTile, from, keys, queries, isMasked); };
    auto values = [&](bool isMasked) {
      tileValues(strip, valueTile, keys, count, queries, true, true, false, isMasked);
    };
    onlyIf(live.hi, [&] {
      onlyIf(live.lo, [&] { scores(false); }, [&] { scores(true); });
      softmax();
      onlyIf(live.lo, [&] { values(false); }, [&] { values(true); });
    });
  };
  forLoop(index, zero, last, shape.keys, [&](Value from) { tile(from, size, false); });
  tile(last, index.sub(keyCount, last), true);
  if (!op.getMask().empty()) // whichever tile was the last
    tileValues(strip, value, zero, count, queries, true, false, true);
}

/// What a tile makes of an inner product: score, bias, mask, in this order.
void AttentionTiling::emitHooks(Region &region, bool isMasked, size_t positionCount) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types(1, builder.getF32Type());
  types.append(positionCount, builder.getIndexType());
  Block *block =
      builder.createBlock(&region, {}, types, SmallVector<Location>(types.size(), index.loc));
  Value product = block->getArgument(0);
  Value result = isScaled() ? product : score.emit(product, builder);
  auto inlined = [&](Region &hook, ValueRange arguments) {
    IRMapping mapping;
    mapping.map(hook.getArguments(), arguments);
    for (Operation &inner : hook.front().without_terminator())
      builder.clone(inner, mapping);
    return mapping.lookupOrDefault(cast<YieldOp>(hook.front().getTerminator()).getValue());
  };
  ValueRange pair = block->getArguments().drop_front();
  if (!op.getBias().empty()) {
    SmallVector<Value> arguments{result};
    llvm::append_range(arguments, pair);
    result = inlined(op.getBias(), arguments);
  }
  if (isMasked) {
    Value isLive = inlined(op.getMask(), pair);
    auto none = builder.getF32FloatAttr(-std::numeric_limits<float>::infinity());
    result = arith::SelectOp::create(builder, index.loc, isLive, result,
                                     arith::ConstantOp::create(builder, index.loc, none));
  }
  YieldOp::create(builder, index.loc, result);
}

void AttentionTiling::tileScores(Value keyTile, Value firstKey, Value keys, int64_t queries,
                                 bool isMasked) {
  int64_t lanes = context.target.lanes, vectors = queries / lanes,
          parts = llvm::divideCeil(vectors, RegisterBlocks::queryVectors);
  std::set<int64_t> counts;
  if (std::optional<int64_t> known = constantIndex(keys))
    counts.insert(*known);
  for (int64_t part = 0; part < parts; ++part) {
    int64_t from = vectors * part / parts, width = vectors * (part + 1) / parts - from;
    int64_t size = blocks.keys(width);
    if (!constantIndex(keys))
      for (int64_t rest = 0; rest < size; ++rest)
        counts.insert(rest);
    Value lane = index.constant(from * lanes);
    forGroups(index, keys, size, restsOf(counts, size), [&](Value row, int64_t group) {
      SmallVector<Value> places;
      if (isMasked || !op.getBias().empty()) {
        places = positions;
        places.back() = index.add(places.back(), lane);
        places.push_back(index.add(firstKey, row));
      }
      auto tile = ScoreTileOp::create(builder, index.loc, block, keyTile, strip, statistics, row,
                                      lane, places, group, width * lanes, isMasked && isScaled());
      if (isMasked || !isScaled())
        emitHooks(tile.getScore(), isMasked, places.size());
    });
  }
}

void AttentionTiling::tileValues(Value weights, Value valueTile, Value keys, Value count,
                                 int64_t queries, bool accumulate, bool rescale, bool normalise,
                                 bool selects) {
  if (constantIndex(keys) != 0 && isPacked()) {
    PackTileOp::create(builder, index.loc, valueTile, packed, keys);
    valueTile = packed;
  }
  std::set<int64_t> counts = countsOf(queries);
  auto rowsOfPanel = [&](Value column, int64_t columns) {
    int64_t size = blocks.rows(columns);
    forGroups(index, count, size, restsOf(counts, size), [&](Value row, int64_t rows) {
      ValueTileOp::create(builder, index.loc, weights, valueTile, statistics, out, row, column,
                          keys, rows, columns, accumulate, rescale, normalise, selects);
    });
  };
  int64_t size = blocks.columns(valueFeatures);
  forGroups(index, index.constant(valueFeatures), size, {valueFeatures % size}, rowsOfPanel);
}

std::string AttentionTiling::choice() {
  std::string text = !op.getMask().empty() ? "online softmax over live strips of "
                     : shape.online        ? "online softmax over strips of "
                                           : "one strip of ";
  text += std::to_string(shape.keys) + " keys, blocks of " + joinNumbers(blockSizes()) + " queries";
  return isPacked() ? text + ", values packed by " + std::to_string(shape.valueKeys) : text;
}

FailureOr<std::string> attn::tileAttention(AttentionKernelOp op, const TilingContext &context) {
  AttentionTiling tiling(op, context);
  if (failed(tiling.run()))
    return failure();
  return tiling.choice();
}
