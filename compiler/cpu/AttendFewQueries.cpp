// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention of a few queries: decoding, and what reads one token. There are too
// few queries to be the lanes of a vector, so its lanes are features in the products and keys in
// all that is done with scores. Every key and value is read once, in the order of memory:
//
//   for each head, for 64 keys at a time (those that the mask leaves):
//     for each query: for a vector of keys: their products, added up across lanes; the hooks; the
//     largest score; exp
//     for some queries at a time: for each key: sums += weight * value
//
// The vectors are written at once: these tiles are too small for ops of their own.
#include "compiler/cpu/AttendFewQueries.h"
#include "compiler/cpu/ScoreFunction.h"
#include "compiler/cpu/VectorizeRegion.h"
#include "compiler/transforms/AttentionShape.h"
#include "compiler/transforms/MaskIntervals.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

constexpr int64_t tileKeys = FewQueriesShape::tileKeys;

class FewQueries {
public:
  FewQueries(AttentionKernelOp op, const TilingContext &context, const ScoreFunction &score)
      : op(op), score(score), builder(op), index(builder, op.getLoc()), loc(op.getLoc()),
        lanes(context.target.lanes), registers(context.target.registers) {
    int64_t batch = op.getBatch();
    queries = cast<MemRefType>(op.getOut().getType()).getDimSize(batch);
    features = cast<MemRefType>(op.getKey().getType()).getShape().back();
    valueFeatures = cast<MemRefType>(op.getValue().getType()).getShape().back();
    row = VectorType::get({lanes}, builder.getF32Type());
    zero = index.constant(0), laneCount = index.constant(lanes);
    scratch = memref::SubViewOp::create(
        builder, loc, op.getScratch(),
        ArrayRef<OpFoldResult>{context.thread, builder.getIndexAttr(0)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1),
                               builder.getIndexAttr(queries * shape().queryFloats())},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1), builder.getIndexAttr(1)});
  }

  void run(Value thread, Value threads);
  std::string choice();

private:
  int64_t vectorsOf(int64_t columns) const { return llvm::divideCeil(columns, lanes); }
  FewQueriesShape shape() const { return {lanes, valueFeatures}; }
  /// Queries that share one reading of the values: their sums stay in registers.
  int64_t group() const {
    return std::clamp<int64_t>(registers * 3 / 4 / vectorsOf(valueFeatures), 1, queries);
  }

  // Places of scratch, each at a query.
  enum class Part { Weights, Live, Sums, Total, Largest };
  Value placeOf(Part part, Value query);
  Value load(Part part, Value query, int64_t offset = 0);
  void store(Value vector, Part part, Value query, int64_t offset = 0);

  Value headOf(Value buffer);
  Value loadFeatures(Value matrix, Value at, int64_t vector, int64_t columns);
  void storeFeatures(Value vector, Value matrix, Value at, int64_t number, int64_t columns);
  Value constant(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(row, static_cast<float>(value)));
  }
  Value larger(Value a, Value b) { return arith::MaximumFOp::create(builder, loc, a, b); }
  Value sum(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value fma(Value a, Value b, Value c) { return vector::FMAOp::create(builder, loc, a, b, c); }
  /// `combine` of all lanes, in all lanes.
  Value acrossLanes(Value vector, llvm::function_ref<Value(Value, Value)> combine);

  Value products(Value query, Value firstKey);
  Value addUp(SmallVector<Value> rows);
  Value emitHooks(Region &region, llvm::function_ref<Value(ValueRange)> body, ValueRange arguments);
  void scores(Value query, Value firstKey, Value inTile, Value keys, bool isMasked);
  void weights(Value query, Value keys);
  void values(Value firstKey, Value keys, bool isMasked);
  void valuesOf(Value firstQuery, int64_t count, Value firstKey, Value keys, bool isMasked);
  void tile(Value firstKey, Value keys, bool isMasked);
  void attend(Value head);
  void finish(Value query);

  AttentionKernelOp op;
  ScoreFunction score;
  OpBuilder builder;
  IndexBuilder index;
  Location loc;
  int64_t lanes, registers, queries, features, valueFeatures;
  VectorType row;
  Value zero, laneCount, scratch;
  // Of a head.
  SmallVector<Value> batch;
  Value query, key, value, out, keyCount;
};

} // namespace

//===-- memory ------------------------------------------------------------------------------===//

Value FewQueries::placeOf(Part part, Value query) {
  int64_t sums = 2 * tileKeys, total = sums + shape().sumFloats();
  int64_t at = part == Part::Weights ? 0
               : part == Part::Live  ? tileKeys
               : part == Part::Sums  ? sums
               : part == Part::Total ? total
                                     : total + lanes;
  return index.add(index.mul(query, index.constant(shape().queryFloats())), index.constant(at));
}

Value FewQueries::load(Part part, Value query, int64_t offset) {
  Value at = index.add(placeOf(part, query), index.constant(offset));
  return vector::LoadOp::create(builder, loc, row, scratch, ValueRange{zero, at});
}

void FewQueries::store(Value vector, Part part, Value query, int64_t offset) {
  Value at = index.add(placeOf(part, query), index.constant(offset));
  vector::StoreOp::create(builder, loc, vector, scratch, ValueRange{zero, at});
}

/// The matrix [rows, features] of the head.
Value FewQueries::headOf(Value buffer) {
  SmallVector<OpFoldResult> offsets(batch.begin(), batch.end()),
      sizes(batch.size(), builder.getIndexAttr(1));
  return viewOf(index, buffer, offsets, sizes, batch.size());
}

/// Vector `number` of a row of `columns` features; zeros behind the last.
Value FewQueries::loadFeatures(Value matrix, Value at, int64_t number, int64_t columns) {
  SmallVector<Value> indices{at, index.constant(number * lanes)};
  int64_t left = columns - number * lanes;
  if (left >= lanes)
    return vector::LoadOp::create(builder, loc, row, matrix, indices);
  auto bits = VectorType::get({lanes}, builder.getI1Type());
  Value mask = vector::ConstantMaskOp::create(builder, loc, bits, ArrayRef<int64_t>{left});
  return vector::MaskedLoadOp::create(builder, loc, row, matrix, indices, mask, constant(0));
}

void FewQueries::storeFeatures(Value vector, Value matrix, Value at, int64_t number,
                               int64_t columns) {
  SmallVector<Value> indices{at, index.constant(number * lanes)};
  int64_t left = columns - number * lanes;
  if (left >= lanes) {
    vector::StoreOp::create(builder, loc, vector, matrix, indices);
    return;
  }
  auto bits = VectorType::get({lanes}, builder.getI1Type());
  Value mask = vector::ConstantMaskOp::create(builder, loc, bits, ArrayRef<int64_t>{left});
  vector::MaskedStoreOp::create(builder, loc, matrix, indices, mask, vector);
}

//===-- scores ------------------------------------------------------------------------------===//

Value FewQueries::acrossLanes(Value vector, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t step = lanes / 2; step > 0; step /= 2) {
    SmallVector<int64_t> other;
    for (int64_t lane = 0; lane < lanes; ++lane)
      other.push_back(lane ^ step);
    vector = combine(vector, vector::ShuffleOp::create(builder, loc, vector, vector, other));
  }
  return vector;
}

/// The sums over the lanes of `lanes` vectors, as one: neighbours are added and packed together.
Value FewQueries::addUp(SmallVector<Value> rows) {
  SmallVector<int64_t> even, odd;
  for (int64_t lane = 0; lane < lanes; ++lane)
    even.push_back(2 * lane), odd.push_back(2 * lane + 1);
  while (rows.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i < rows.size(); i += 2)
      next.push_back(sum(vector::ShuffleOp::create(builder, loc, rows[i], rows[i + 1], even),
                         vector::ShuffleOp::create(builder, loc, rows[i], rows[i + 1], odd)));
    rows = next;
  }
  return rows.front();
}

/// The products of a query with as many keys as a vector has lanes; behind the last key, with that.
Value FewQueries::products(Value queryRow, Value firstKey) {
  SmallVector<Value> own, sums;
  int64_t count = vectorsOf(features);
  for (int64_t i = 0; i < count; ++i)
    own.push_back(loadFeatures(query, queryRow, i, features));
  Value last = index.sub(keyCount, index.constant(1));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value at = index.min(index.add(firstKey, index.constant(lane)), last), products;
    for (int64_t i = 0; i < count; ++i) {
      Value part = loadFeatures(key, at, i, features);
      products = i == 0 ? arith::MulFOp::create(builder, loc, own[i], part).getResult()
                        : fma(own[i], part, products);
    }
    sums.push_back(products);
  }
  return addUp(sums);
}

/// What `body` makes of scalars, at vector width: `arguments` are a vector of products, scalars for
/// positions, and a vector of keys' positions.
Value FewQueries::emitHooks(Region &region, llvm::function_ref<Value(ValueRange)> body,
                            ValueRange arguments) {
  SmallVector<Type> types(arguments.size(), builder.getIndexType());
  types.front() = builder.getF32Type();
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block =
        builder.createBlock(&region, {}, types, SmallVector<Location>(types.size(), loc));
    YieldOp::create(builder, loc, body(block->getArguments()));
  }
  return vectorizeRegion(builder, region, arguments, lanes);
}

void FewQueries::scores(Value queryRow, Value firstKey, Value inTile, Value keys, bool isMasked) {
  Value first = index.add(firstKey, inTile);
  auto wholes = VectorType::get({lanes}, builder.getI32Type());
  SmallVector<int32_t> counting = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  Value steps = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(wholes, ArrayRef<int32_t>(counting)));
  Value places = arith::AddIOp::create(builder, loc, splat(builder, loc, first, lanes), steps);
  SmallVector<Value> arguments{products(queryRow, first)};
  llvm::append_range(arguments, batch);
  arguments.append({queryRow, places});

  Region hooks, mask;
  Value scores = emitHooks(
      hooks,
      [&](ValueRange own) {
        ValueRange positions = own.drop_front();
        IRMapping mapping;
        Block &region = op.getScore().front();
        mapping.map(region.getArguments().slice(2, positions.size()), positions);
        mapping.map(region.getArguments().take_back(op.getCaptures().size()), op.getCaptures());
        Value result = score.emit(own.front(), mapping, builder);
        if (!op.getBias().empty())
          result = inlineHook(builder, op.getBias(), result, positions, op.getCaptures());
        if (!op.getCap().empty())
          result = inlineHook(builder, op.getCap(), result, {}, {});
        return result;
      },
      arguments);
  Value left = splat(builder, loc, index.sub(keys, inTile), lanes);
  Value live = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, steps, left);
  if (isMasked) {
    Value seen = emitHooks(
        mask,
        [&](ValueRange own) {
          return inlineHook(builder, op.getMask(), {}, own.drop_front(), op.getCaptures());
        },
        arguments);
    live = arith::AndIOp::create(builder, loc, live, seen);
    Value flags = arith::SelectOp::create(builder, loc, live, constant(1), constant(0));
    Value at = index.add(placeOf(Part::Live, queryRow), inTile);
    vector::StoreOp::create(builder, loc, flags, scratch, ValueRange{zero, at});
  }
  Value none = constant(-std::numeric_limits<double>::infinity());
  scores = arith::SelectOp::create(builder, loc, live, scores, none);
  Value at = index.add(placeOf(Part::Weights, queryRow), inTile);
  vector::StoreOp::create(builder, loc, scores, scratch, ValueRange{zero, at});
}

/// Scores of a tile become weights; what was summed before is scaled to the largest score so far.
void FewQueries::weights(Value queryRow, Value keys) {
  auto overKeys = [&](Value start, llvm::function_ref<Value(Value, Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, zero, keys, laneCount, start);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value at = index.add(placeOf(Part::Weights, queryRow), loop.getInductionVar());
    scf::YieldOp::create(builder, loc, body(at, loop.getRegionIterArg(0)));
    return loop.getResult(0);
  };
  auto at = [&](Value place) {
    return vector::LoadOp::create(builder, loc, row, scratch, ValueRange{zero, place});
  };
  Value before = load(Part::Largest, queryRow);
  Value largest =
      overKeys(before, [&](Value place, Value most) { return larger(most, at(place)); });
  largest = acrossLanes(largest, [&](Value a, Value b) { return larger(a, b); });
  store(largest, Part::Largest, queryRow);
  // No live key yet: anything finite will do.
  Value none = constant(-std::numeric_limits<double>::infinity());
  Value isNone = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, largest, none);
  Value from = arith::SelectOp::create(builder, loc, isNone, constant(0), largest);
  auto weightOf = [&](Value score) -> Value {
    return math::ExpOp::create(builder, loc, arith::SubFOp::create(builder, loc, score, from));
  };
  Value factor = weightOf(before);
  auto scale = [&](Part part, int64_t offset) {
    Value scaled = arith::MulFOp::create(builder, loc, load(part, queryRow, offset), factor);
    store(scaled, part, queryRow, offset);
    return scaled;
  };
  for (int64_t i = 0; i < vectorsOf(valueFeatures); ++i)
    scale(Part::Sums, i * lanes);
  Value total = overKeys(scale(Part::Total, 0), [&](Value place, Value sums) {
    Value weight = weightOf(at(place));
    vector::StoreOp::create(builder, loc, weight, scratch, ValueRange{zero, place});
    return sum(sums, weight);
  });
  store(total, Part::Total, queryRow);
}

//===-- values ------------------------------------------------------------------------------===//

/// Adds a tile's values to the sums of `count` queries. What a query does not see stays behind its
/// mask, NaN and infinities too.
void FewQueries::valuesOf(Value firstQuery, int64_t count, Value firstKey, Value keys,
                          bool isMasked) {
  int64_t vectors = vectorsOf(valueFeatures);
  SmallVector<Value> rows, sums;
  for (int64_t i = 0; i < count; ++i) {
    rows.push_back(index.add(firstQuery, index.constant(i)));
    for (int64_t v = 0; v < vectors; ++v)
      sums.push_back(load(Part::Sums, rows.back(), v * lanes));
  }
  auto loop = scf::ForOp::create(builder, loc, zero, keys, index.constant(1), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value inTile = loop.getInductionVar(), at = index.add(firstKey, inTile);
    SmallVector<Value> parts, next;
    for (int64_t v = 0; v < vectors; ++v)
      parts.push_back(loadFeatures(value, at, v, valueFeatures));
    for (int64_t i = 0; i < count; ++i) {
      auto scalar = [&](Part part) -> Value {
        return memref::LoadOp::create(builder, loc, scratch,
                                      ValueRange{zero, index.add(placeOf(part, rows[i]), inTile)});
      };
      Value weight = splat(builder, loc, scalar(Part::Weights), lanes), isLive;
      if (isMasked) {
        Value flag = splat(builder, loc, scalar(Part::Live), lanes);
        isLive = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, flag, constant(0));
      }
      for (int64_t v = 0; v < vectors; ++v) {
        Value seen =
            isMasked
                ? arith::SelectOp::create(builder, loc, isLive, parts[v], constant(0)).getResult()
                : parts[v];
        next.push_back(fma(weight, seen, loop.getRegionIterArg(i * vectors + v)));
      }
    }
    scf::YieldOp::create(builder, loc, next);
  }
  for (int64_t i = 0; i < count; ++i)
    for (int64_t v = 0; v < vectors; ++v)
      store(loop.getResult(i * vectors + v), Part::Sums, rows[i], v * lanes);
}

void FewQueries::values(Value firstKey, Value keys, bool isMasked) {
  int64_t size = group(), whole = queries / size * size;
  forLoop(index, zero, index.constant(whole), size,
          [&](Value first) { valuesOf(first, size, firstKey, keys, isMasked); });
  if (whole < queries)
    valuesOf(index.constant(whole), queries - whole, firstKey, keys, isMasked);
}

//===-- the kernel --------------------------------------------------------------------------===//

void FewQueries::tile(Value firstKey, Value keys, bool isMasked) {
  forLoop(index, zero, index.constant(queries), 1, [&](Value queryRow) {
    forLoop(index, zero, keys, lanes,
            [&](Value inTile) { scores(queryRow, firstKey, inTile, keys, isMasked); });
    weights(queryRow, keys);
  });
  values(firstKey, keys, isMasked);
}

/// A query without a live key gives 0.
void FewQueries::finish(Value queryRow) {
  Value total =
      acrossLanes(load(Part::Total, queryRow), [&](Value a, Value b) { return sum(a, b); });
  Value isNone = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, total, constant(0));
  Value factor = arith::DivFOp::create(builder, loc, constant(1), total);
  for (int64_t v = 0; v < vectorsOf(valueFeatures); ++v) {
    Value result =
        arith::MulFOp::create(builder, loc, load(Part::Sums, queryRow, v * lanes), factor);
    result = arith::SelectOp::create(builder, loc, isNone, constant(0), result);
    storeFeatures(result, out, queryRow, v, valueFeatures);
  }
}

void FewQueries::attend(Value head) {
  batch = index.delinearize(head, op.getOut(), 0, op.getBatch());
  query = headOf(op.getQuery()), key = headOf(op.getKey());
  value = headOf(op.getValue()), out = headOf(op.getOut());
  keyCount = index.dim(op.getKey(), op.getBatch());
  Value all = index.constant(queries), one = index.constant(1);
  forLoop(index, zero, all, 1, [&](Value queryRow) {
    for (int64_t v = 0; v < vectorsOf(valueFeatures); ++v)
      store(constant(0), Part::Sums, queryRow, v * lanes);
    store(constant(0), Part::Total, queryRow);
    store(constant(-std::numeric_limits<double>::infinity()), Part::Largest, queryRow);
  });
  forLoop(index, zero, keyCount, tileKeys, [&](Value firstKey) {
    Value keys = index.min(index.constant(tileKeys), index.sub(keyCount, firstKey));
    if (op.getMask().empty())
      return tile(firstKey, keys, false);
    SmallVector<Interval> bounds;
    for (Value position : batch)
      bounds.push_back({position, position});
    bounds.push_back({zero, index.sub(all, one)});
    bounds.push_back({firstKey, index.sub(index.add(firstKey, keys), one)});
    Interval live = boundMask(builder, loc, op.getMask(), bounds, op.getCaptures());
    choose(index, live.hi, [&] {
      choose(
          index, live.lo, [&] { tile(firstKey, keys, false); },
          [&] { tile(firstKey, keys, true); });
    });
  });
  forLoop(index, zero, all, 1, [&](Value queryRow) { finish(queryRow); });
}

void FewQueries::run(Value thread, Value threads) {
  Value heads = index.product(op.getOut(), 0, op.getBatch());
  forEachUnit(index, heads, thread, threads, [&](Value head) { attend(head); });
}

std::string FewQueries::choice() {
  std::string text = op.getMask().empty() ? "online softmax over " : "online softmax over live ";
  return text + std::to_string(tileKeys) + " keys, lanes of features, " + std::to_string(group()) +
         (group() == 1 ? " query" : " queries") + " at a time";
}

bool attn::areFewQueries(AttentionKernelOp op, const ScoreFunction &score) {
  auto out = cast<MemRefType>(op.getOut().getType());
  int64_t count = out.getDimSize(static_cast<int64_t>(op.getBatch()));
  return !ShapedType::isDynamic(count) && count <= FewQueriesShape::mostQueries &&
         score.isProduct && op.getNormaliser() == Normaliser::Softmax && op.getSink().empty() &&
         op.getFurther().empty();
}

std::string attn::attendFewQueries(AttentionKernelOp op, const TilingContext &context,
                                   const ScoreFunction &score) {
  FewQueries few(op, context, score);
  few.run(context.thread, context.threads);
  return few.choice();
}
