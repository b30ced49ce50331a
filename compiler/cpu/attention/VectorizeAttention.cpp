// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: tiles with queries in the lanes, and value tiles with features in
// the lanes.
#include "compiler/cpu/attention/AttentionTileEmitter.h"
#include "compiler/cpu/attention/AttentionTiling.h"
#include "compiler/cpu/vectors/RowVectors.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace attn;

//===-- parts -------------------------------------------------------------------------------===//

Value TileEmitter::constant(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(vectorType, static_cast<float>(value)));
}

Value TileEmitter::mask(int64_t valid, int64_t lanes) {
  auto type = VectorType::get({lanes}, builder.getI1Type());
  return vector::ConstantMaskOp::create(builder, loc, type, ArrayRef<int64_t>{valid});
}

Value TileEmitter::load(Value matrix, Value row, Value column, int64_t valid, int64_t lanes) {
  return loadFloats(index, matrix, {row, column}, lanes,
                    valid < lanes ? mask(valid, lanes) : Value());
}

void TileEmitter::store(Value vector, Value matrix, Value row, Value column, int64_t valid) {
  if (getElementTypeOrSelf(matrix.getType()).isInteger(16))
    vector = pairs.bits(vector);
  int64_t lanes = cast<VectorType>(vector.getType()).getDimSize(0);
  if (valid >= lanes)
    vector::StoreOp::create(builder, loc, vector, matrix, ValueRange{row, column});
  else
    vector::MaskedStoreOp::create(builder, loc, matrix, ValueRange{row, column}, mask(valid, lanes),
                                  vector);
}

void TileEmitter::prefetch(Value matrix, Value row, Value column, int64_t size, bool isWrite) {
  for (int64_t c = 0; c < size; c += lineElements(matrix))
    memref::PrefetchOp::create(builder, loc, matrix, ValueRange{row, plus(column, c)}, isWrite,
                               /*localityHint=*/3, /*isDataCache=*/true);
}

Value TileEmitter::broadcast(Value matrix, Value row, Value column) {
  Value scalar = memref::LoadOp::create(builder, loc, matrix, ValueRange{row, column});
  return vector::BroadcastOp::create(builder, loc, vectorType, scalar);
}

/// Never NaN where `b` is not: one instruction. NaNs come back with exp2(NaN - maximum).
Value TileEmitter::larger(Value a, Value b) {
  if (target.maxima)
    return arith::MaxNumFOp::create(builder, loc, a, b);
  Value isLarger = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
  return arith::SelectOp::create(builder, loc, isLarger, a, b);
}

/// 1 / sum of a query's weights; 0 where there are none.
Value TileEmitter::inverse(Value sum) {
  Type f32 = builder.getF32Type();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0)),
        one = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1));
  Value isZero = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, sum, zero);
  Value quotient = arith::DivFOp::create(builder, loc, f32, one, sum);
  return arith::SelectOp::create(builder, loc, isZero, zero, quotient);
}

/// for (i = from; i < to; ++i) step(i, accumulators), with the accumulators in registers.
SmallVector<Value>
TileEmitter::sumLoop(Value from, Value to, ValueRange inits,
                     llvm::function_ref<void(Value, MutableArrayRef<Value>)> step) {
  auto loop = scf::ForOp::create(builder, loc, from, to, index.constant(1), inits);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> sums(loop.getRegionIterArgs());
  step(loop.getInductionVar(), sums);
  scf::YieldOp::create(builder, loc, sums);
  return loop.getResults();
}

/// Sums [row][vector] over steps [from, to), in registers, and then finish(row). The last steps are
/// done `rowByRow`: what finish stores, a vector in two cycles, goes out between products then,
/// not all at once.
void TileEmitter::sumProducts(Value from, Value to, SmallVector<Value> sums,
                              const RowProducts &products, bool rowByRow) {
  int64_t end = constantIndex(to).value_or(0), some = RegisterBlocks::lastSteps,
          last = rowByRow && end >= 2 * some ? end - some : end;
  auto add = [&](Value step, int64_t first, int64_t count, MutableArrayRef<Value> sums) {
    SmallVector<Value> vectors = products.vectorsAt(step);
    for (int64_t row = first; row < first + count; ++row)
      products.add(step, row, vectors, sums);
  };
  sums =
      sumLoop(from, last < end ? index.constant(last) : to, sums,
              [&](Value step, MutableArrayRef<Value> sums) { add(step, 0, products.rows, sums); });
  for (int64_t row = 0; row < products.rows; ++row) {
    for (int64_t step = last; step < end; ++step)
      add(index.constant(step), row, 1, sums);
    products.finish(row, sums);
  }
}

/// Transposes squares of as many lanes as there are vectors: for every bit of the lane's number,
/// exchanges the halves that it tells apart between pairs of vectors.
void TileEmitter::transpose(MutableArrayRef<Value> rows) {
  int64_t lanes = target.lanes, count = rows.size();
  for (int64_t bit = 1; bit < count; bit *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      low.push_back(lane & bit ? lanes + lane - bit : lane);
      high.push_back(lane & bit ? lanes + lane : lane + bit);
    }
    for (int64_t i = 0; i < count; ++i) {
      if (i & bit)
        continue;
      Value a = rows[i], b = rows[i + bit];
      rows[i] = vector::ShuffleOp::create(builder, loc, a, b, low);
      rows[i + bit] = vector::ShuffleOp::create(builder, loc, a, b, high);
    }
  }
}

//===-- tiles -------------------------------------------------------------------------------===//

/// Features [feature, feature + valid) of `lanes` queries.
void TileEmitter::transposeQueries(QueryTileOp op, ArrayRef<Value> rows, Value feature,
                                   int64_t valid) {
  Value scale = constant(op.getScale().convertToDouble());
  SmallVector<Value> vectors;
  for (Value row : rows)
    vectors.push_back(load(op.getQuery(), row, feature, valid));
  for (int64_t lane = 0; lane < target.lanes; ++lane) // the next vector's
    prefetch(op.getQuery(), plus(op.getRow(), target.lanes + lane), feature, valid);
  transpose(vectors);
  for (Value &vector : MutableArrayRef(vectors).take_front(valid))
    vector = arith::MulFOp::create(builder, loc, vector, scale);
  if (!op.getPairs()) {
    for (int64_t e = 0; e < valid; ++e)
      store(vectors[e], op.getBlock(), plus(feature, e), op.getLane());
    return;
  }
  Value first = index.div(feature, index.constant(2));
  for (int64_t e = 0; e < valid; e += 2) {
    Value odd = e + 1 < valid ? vectors[e + 1] : constant(0);
    store(pairs.words(vectors[e], odd), op.getBlock(), plus(first, e / 2), op.getLane());
  }
}

LogicalResult TileEmitter::emit(QueryTileOp op) {
  int64_t lanes = target.lanes;
  if (static_cast<int64_t>(op.getQueries()) != lanes)
    return op.emitError("expected a vector of ") << lanes << " queries";
  int64_t features = cast<MemRefType>(op.getQuery().getType()).getDimSize(1);
  Value last = index.sub(index.dim(op.getQuery(), 0), index.constant(1));
  SmallVector<Value> rows; // lanes beyond the last query repeat it
  for (int64_t lane = 0; lane < lanes; ++lane)
    rows.push_back(index.min(plus(op.getRow(), lane), last));
  int64_t whole = features / lanes * lanes;
  if (whole > 0)
    forLoop(index, index.constant(0), index.constant(whole), lanes,
            [&](Value feature) { transposeQueries(op, rows, feature, lanes); });
  if (whole < features)
    transposeQueries(op, rows, index.constant(whole), features - whole);
  if (op.getPairs())
    forLoop(index, index.constant(llvm::divideCeil(features, 2)), index.dim(op.getBlock(), 0), 1,
            [&](Value word) { store(constant(0), op.getBlock(), word, op.getLane()); });
  return success();
}

/// Scores in base 2.
static constexpr double log2e = 1.4426950408889634;

Value TileEmitter::queryPositions(Value first, Value last, int64_t w) {
  SmallVector<int32_t> steps(target.lanes);
  std::iota(steps.begin(), steps.end(), int32_t(w * target.lanes));
  auto type = VectorType::get({target.lanes}, builder.getI32Type());
  Value lanes = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
  Value all = arith::AddIOp::create(builder, loc, splat(builder, loc, first, target.lanes), lanes);
  return arith::MinSIOp::create(builder, loc, all, splat(builder, loc, last, target.lanes));
}

LogicalResult TileEmitter::emit(ResetTileOp op) {
  // Never -inf, so that a row of -inf alone has weights exp2(-inf - maximum) = 0.
  Value maximum = constant(std::numeric_limits<float>::lowest()), sum = constant(0);
  if (!op.getSink().empty()) {
    SmallVector<Value> arguments(op.getPositions().drop_back(2));
    Value first = op.getPositions().drop_back().back(), last = op.getPositions().back();
    arguments.push_back(queryPositions(first, last, 0));
    Value sink = vectorizeRegion(builder, op.getSink(), arguments, target.lanes);
    if (!sink)
      return failure();
    Value score = arith::MulFOp::create(builder, loc, sink, constant(log2e));
    maximum = larger(maximum, score);
    Value isNone =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, score,
                              constant(-std::numeric_limits<double>::infinity())); // no further key
    sum = arith::SelectOp::create(builder, loc, isNone, constant(0), constant(1));
  }
  std::pair<Statistic, Value> resets[] = {
      {Maximum, maximum}, {Sum, sum}, {Factor, constant(1)}, {MaximumBefore, maximum}};
  for (int64_t lane = 0; lane < static_cast<int64_t>(op.getQueries()); lane += target.lanes)
    for (auto [row, value] : resets)
      store(value, op.getStatistics(), index.constant(row), plus(op.getLane(), lane));
  return success();
}

/// The positions of a row of keys and vector w of the queries: one for each lane, the others for
/// all.
void TileEmitter::appendPositions(ScoreTileOp op, Value row, int64_t w,
                                  SmallVectorImpl<Value> &arguments) {
  OperandRange positions = op.getPositions();
  if (positions.empty())
    return;
  size_t batch = positions.size() - 3;
  llvm::append_range(arguments, positions.take_front(batch));
  arguments.push_back(queryPositions(positions[batch], positions[batch + 1], w));
  arguments.push_back(index.add(positions[batch + 2], index.sub(row, op.getRow())));
}

/// What the op makes of a sum, in units of base 2; null where its region cannot be vectorized.
Value TileEmitter::scoreOf(ScoreTileOp op, Value sum, Value row, int64_t w,
                           const DenseMap<Operation *, Value> &read) {
  if (op.getScore().empty())
    return sum;
  SmallVector<Value> arguments{sum};
  appendPositions(op, row, w, arguments);
  Value score = vectorizeRegion(builder, op.getScore(), arguments, target.lanes, read);
  double factor = op.getFactor().convertToFloat();
  if (score && factor != 1)
    score = arith::MulFOp::create(builder, loc, score, constant(factor));
  return score;
}

LogicalResult TileEmitter::emit(ScoreTileOp op) {
  int64_t keys = op.getKeys(), vectors = vectorsOf(op.getQueries());
  int64_t features = cast<MemRefType>(op.getKey().getType()).getDimSize(1);
  SmallVector<Value> lanes, rows;
  for (int64_t w = 0; w < vectors; ++w)
    lanes.push_back(plus(op.getLane(), w * target.lanes));
  for (int64_t j = 0; j < keys; ++j)
    rows.push_back(plus(op.getRow(), j));
  SmallVector<Value> keyRows = rows;
  if (op.getRepeats()) {
    Value last = index.sub(index.dim(op.getKey(), 0), index.constant(1));
    for (Value &row : keyRows)
      row = index.min(row, last);
  }
  int64_t weighed = op.getWeighs();
  if (weighed > 0 && features < weighed * vectors + RegisterBlocks::lastSteps)
    return op.emitError("expected a step for each vector that it weighs, but got ")
           << features << " features";
  SmallVector<RowRead> reads = rowReads(op);
  bool isFine = true;
  auto vectorsAt = [&](Value e) { // of the queries, and elements of what else is combined
    for (const RowRead &read : reads)
      prefetchRow(read, op, e);
    SmallVector<Value> all;
    for (Value lane : lanes)
      all.push_back(load(op.getBlock(), e, lane));
    for (Value vector : op.getVectors()) {
      Value element = memref::LoadOp::create(builder, loc, vector, e);
      all.push_back(vector::BroadcastOp::create(builder, loc, vectorType, element));
    }
    return all;
  };
  auto add = [&](Value e, int64_t j, ArrayRef<Value> all, MutableArrayRef<Value> sums) {
    Value key = broadcast(op.getKey(), keyRows[j], e);
    for (int64_t w = 0; w < vectors; ++w) {
      Value &sum = sums[j * vectors + w];
      if (op.getCombine().empty()) {
        sum = multiplyAdd(all[w], key, sum);
        continue;
      }
      SmallVector<Value> arguments{all[w], key};
      llvm::append_range(arguments, all.drop_front(vectors));
      Value term = vectorizeRegion(builder, op.getCombine(), arguments, target.lanes);
      isFine &= bool(term);
      if (term)
        sum = arith::AddFOp::create(builder, loc, sum, term);
    }
  };
  SmallVector<SmallVector<Value>> elements; // of a read, [key][vector]
  SmallVector<Value> before, maxima;
  auto finish = [&](int64_t j, ArrayRef<Value> sums) {
    if (j == 0) { // behind the products
      for (const RowRead &read : reads)
        elements.push_back(readRows(read, op));
      for (Value lane : lanes)
        before.push_back(load(op.getStatistics(), index.constant(Maximum), lane));
      maxima = before;
    }
    for (int64_t w = 0; w < vectors; ++w) {
      DenseMap<Operation *, Value> read;
      for (auto [rows, all] : llvm::zip_equal(reads, elements))
        read[rows.element] = all[j * vectors + w];
      Value score = scoreOf(op, sums[j * vectors + w], keyRows[j], w, read);
      isFine &= bool(score);
      if (!score)
        return;
      if (!op.getSummed() || !op.getScore().empty())
        store(score, op.getStrip(), rows[j], lanes[w]);
      maxima[w] = larger(score, maxima[w]);
    }
  };
  RowProducts products{keys, vectorsAt, add, finish};
  if (op.getSummed()) {
    SmallVector<Value> sums;
    for (int64_t j = 0; j < keys; ++j)
      for (Value lane : lanes)
        sums.push_back(load(op.getStrip(), keyRows[j], lane));
    for (int64_t j = 0; j < keys; ++j)
      finish(j, sums);
  } else {
    for (int64_t j = 0; j < keys; ++j) // the next tile's keys: rows far apart, out of L2 or further
      prefetch(op.getKey(), plus(op.getRow(), keys + j), index.constant(0), features);
    SmallVector<Value> sums(keys * vectors, constant(0));
    Value from = weighed > 0 ? weighAbove(op, lanes, products, sums) : index.constant(0);
    sumProducts(from, index.constant(features), sums, products,
                op.getCombine().empty() && reads.empty());
  }
  if (!isFine)
    return failure();
  if (weighed > 0)
    raiseMaxima(op, lanes, before, maxima);
  else
    for (auto [lane, maximum] : llvm::zip_equal(lanes, maxima))
      store(maximum, op.getStatistics(), index.constant(Maximum), lane);
  return success();
}

LogicalResult TileEmitter::emit(PackTileOp op) {
  int64_t columns = cast<MemRefType>(op.getValue().getType()).getDimSize(1);
  forLoop(index, index.constant(0), op.getKeys(), 1, [&](Value key) {
    for (int64_t c = 0; c < columns; c += target.lanes) {
      Value column = index.constant(c);
      store(load(op.getValue(), key, column, columns - c), op.getPacked(), key, column);
    }
  });
  return success();
}

LogicalResult TileEmitter::emit(ValueTileOp op) {
  int64_t rowCount = op.getRows(), columns = op.getColumns(), vectors = vectorsOf(columns);
  SmallVector<Value> rows, places;
  for (int64_t i = 0; i < rowCount; ++i)
    rows.push_back(plus(op.getRow(), i));
  for (int64_t c = 0; c < vectors; ++c)
    places.push_back(plus(op.getColumn(), c * target.lanes));
  // Sums and packed values have room for whole vectors. The last vector is half as wide where that
  // will do: with AVX-512, a multiply-add of 256 bits takes half as long on Zen 4.
  bool isPacked = cast<MemRefType>(op.getValue().getType()).getDimSize(1) % target.lanes == 0;
  auto width = [&](int64_t c) {
    bool isHalf = target.avx512 && columns - c * target.lanes <= target.lanes / 2;
    return isHalf ? target.lanes / 2 : target.lanes;
  };
  auto ofWidth = [&](Value vector, int64_t c) -> Value {
    if (width(c) == target.lanes)
      return vector;
    return vector::ExtractStridedSliceOp::create(builder, loc, vector, 0, width(c), 1);
  };
  SmallVector<Value> sums; // [row][vector]
  for (Value row : rows)
    for (int64_t c = 0; c < vectors; ++c)
      sums.push_back(op.getAccumulate() ? load(op.getSums(), row, places[c], width(c), width(c))
                                        : ofWidth(constant(0), c));
  auto valuesAt = [&](Value key) {
    SmallVector<Value> values;
    for (int64_t c = 0; c < vectors; ++c) {
      int64_t readable = isPacked ? width(c) : columns - c * target.lanes;
      values.push_back(load(op.getValue(), key, places[c], readable, width(c)));
    }
    return values;
  };
  auto add = [&](Value key, int64_t i, ArrayRef<Value> values, MutableArrayRef<Value> sums) {
    Value weight = broadcast(op.getStrip(), key, rows[i]), isLive;
    if (op.getSelects())
      isLive = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, weight, constant(0));
    for (int64_t c = 0; c < vectors; ++c) {
      Value &sum = sums[i * vectors + c], before = sum, value = values[c];
      Value own = ofWidth(weight, c), isOwnLive = isLive ? ofWidth(isLive, c) : Value();
      // One instruction with AVX-512: a fused multiply-add under a mask. AVX2 has an `and` for
      // the value.
      if (isLive && !target.avx512)
        value = arith::SelectOp::create(builder, loc, isLive, value, constant(0));
      sum = multiplyAdd(own, value, before);
      if (isLive && target.avx512)
        sum = arith::SelectOp::create(builder, loc, isOwnLive, sum, before);
    }
  };
  auto finish = [&](int64_t i, ArrayRef<Value> sums) {
    for (int64_t c = 0; c < vectors; ++c)
      store(sums[i * vectors + c], op.getSums(), rows[i], places[c]);
  };
  sumProducts(index.constant(0), op.getKeys(), sums, {rowCount, valuesAt, add, finish});
  return success();
}

LogicalResult TileEmitter::emit(OutputTileOp op) {
  if (op.getTurned()) {
    emitTurned(op);
    return success();
  }
  int64_t columns = cast<MemRefType>(op.getOut().getType()).getDimSize(1);
  forLoop(index, index.constant(0), index.dim(op.getOut(), 0), 1, [&](Value row) {
    Value scale;
    constexpr int64_t ahead = 8;
    prefetch(op.getOut(), plus(row, ahead), index.constant(0), columns, /*isWrite=*/true);
    if (op.getNormalise()) {
      Value sum = memref::LoadOp::create(builder, loc, op.getStatistics(),
                                         ValueRange{index.constant(Sum), row});
      scale = vector::BroadcastOp::create(builder, loc, vectorType, inverse(sum));
    }
    for (int64_t c = 0; c < columns; c += target.lanes) {
      Value column = index.constant(c), result = load(op.getSums(), row, column);
      if (scale)
        result = arith::MulFOp::create(builder, loc, result, scale);
      store(result, op.getOut(), row, column, columns - c);
    }
  });
  return success();
}

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
    TileEmitter emitter(tile, target);
    LogicalResult emitted =
        llvm::TypeSwitch<Operation *, LogicalResult>(tile)
            .Case<RangeTileOp, QueryTileOp, ResetTileOp, ScoreTileOp, SoftmaxTileOp, PackTileOp,
                  ValueTileOp, OutputTileOp, StoreTileOp, WeightRowsOp, LseTileOp, RoundKeysTileOp,
                  TurnValuesTileOp, PairTileOp, FactorTileOp, RescaleTileOp>(
                [&](auto op) { return emitter.emit(op); });
    if (failed(emitted))
      return failure();
    tile->erase();
  }
  for (ElementOp element : elements)
    if (failed(lowerElement(element)))
      return failure();
  return success();
}
