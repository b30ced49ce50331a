// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention of a few queries: decoding, and what reads one token. There are too
// few queries to be the lanes of a vector, so its lanes are features in the products and keys in
// all that is done with scores. Every key and value is read once, in the order of memory:
//
//   for each head, or part of a head's keys, for 64 keys at a time (those that the mask leaves):
//     for a vector of keys: for each query: their products, added up across lanes; the hooks
//     for each query: the largest score; exp
//     for some queries at a time: for each key: sums += weight * value
//
// The vectors are written at once: these tiles are too small for ops of their own.
#include "compiler/cpu/attention/AttendFewQueries.h"
#include "compiler/cpu/attention/FewQueriesEmitter.h"
#include "compiler/cpu/attention/MaskVerdicts.h"
#include "compiler/kernels/AssumedSizes.h"
#include "compiler/kernels/KernelFacts.h"
#include "compiler/kernels/ScoreFunction.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "compiler/transforms/FewQueries.h"
#include "compiler/transforms/MaskIntervals.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

constexpr int64_t tileKeys = FewQueriesShape::tileKeys;

class FewQueries : FewQueriesEmitter {
public:
  FewQueries(AttentionKernelOp op, const CpuTiling &context, const ScoreFunction &score)
      : FewQueriesEmitter(op, op.getOut(), context.target), op(op), score(score),
        registers(context.target.registers) {
    features = cast<MemRefType>(op.getKey().getType()).getShape().back();
    laneCount = index.constant(lanes);
    int64_t weightFloats = queries * FewQueriesShape::weightFloats;
    weightPlaces = scratchFrom(context.thread, 0, weightFloats);
    if (!op.getPartials())
      states = scratchFrom(context.thread, weightFloats, queries * shape().stateFloats());
  }

  void run(const CpuTiling &context);
  std::string choice();

private:
  /// Queries that share one reading of the values: their sums stay in registers.
  int64_t group() const {
    return std::clamp<int64_t>(registers * 3 / 4 / vectorsOf(valueFeatures), 1, queries);
  }
  int64_t parts() {
    return op.getPartials() ? cast<MemRefType>(op.getPartials().getType()).getDimSize(1) : 1;
  }

  /// The thread's scratch from a place on.
  Value scratchFrom(Value thread, int64_t at, int64_t floats);
  /// The place of a query's weights in a tile; of which keys are live, behind.
  Value weightsAt(Value query, Value inTile);
  Value liveAt(Value query, Value inTile);
  Value loadAt(Value place) {
    return vector::LoadOp::create(builder, loc, row, weightPlaces, place);
  }
  void storeAt(Value vector, Value place) {
    vector::StoreOp::create(builder, loc, vector, weightPlaces, place);
  }

  void prefetch(AttentionTerm term, Value matrix, Value at, int64_t column);
  Value products(Value query, Value firstKey);
  Value addUp(SmallVector<Value> rows);
  Value emitHooks(Region &region, llvm::function_ref<Value(ValueRange)> body, ValueRange arguments);
  void scores(Value query, Value firstKey, Value inTile, Value keys, bool isMasked);
  void weights(Value query, Value keys);
  void values(Value firstKey, Value keys, bool isMasked);
  void valuesOf(Value firstQuery, int64_t count, Value firstKey, Value keys, bool isMasked);
  void tile(Value firstKey, Value keys, bool isMasked);
  void overKeys(Value from, Value to);
  void attend(Value unit);

  AttentionKernelOp op;
  ScoreFunction score;
  int64_t registers, features;
  Value laneCount, weightPlaces, states;
  // What belongs to the head that is computed.
  SmallVector<Value> batch;
  Value query, key, value, keyCount;
};

} // namespace

//===-- memory ------------------------------------------------------------------------------===//

Value FewQueries::scratchFrom(Value thread, int64_t at, int64_t floats) {
  return viewOf(index, op.getScratch(), {thread, builder.getIndexAttr(at)},
                {builder.getIndexAttr(1), builder.getIndexAttr(floats)}, /*dropped=*/1);
}

Value FewQueries::weightsAt(Value queryRow, Value inTile) {
  Value start = index.mul(queryRow, index.constant(FewQueriesShape::weightFloats));
  return index.add(start, inTile);
}

Value FewQueries::liveAt(Value queryRow, Value inTile) {
  return index.add(weightsAt(queryRow, inTile), index.constant(tileKeys));
}

/// Has a cache line brought into the L2 cache; there need be no row at its place.
void FewQueries::prefetch(AttentionTerm term, Value matrix, Value at, int64_t column) {
  AtPlace place = writeFor(term);
  memref::PrefetchOp::create(builder, loc, matrix, ValueRange{at, index.constant(column)},
                             /*isWrite=*/false, /*localityHint=*/2, /*isDataCache=*/true);
}

//===-- scores ------------------------------------------------------------------------------===//

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
  AtPlace place = writeFor(AttentionTerm::Score);
  SmallVector<Value> own, sums;
  int64_t count = vectorsOf(features);
  for (int64_t i = 0; i < count; ++i)
    own.push_back(loadFeatures(query, queryRow, i, features));
  // The values of these keys are on their way meanwhile, each query asking for its share of them.
  int64_t valueRows = llvm::divideCeil(lanes, queries), line = lineElements(value),
          lines = llvm::divideCeil(valueFeatures, line), ahead = valueRows * lines;
  Value firstValue = index.add(firstKey, index.mul(queryRow, index.constant(valueRows)));
  Value last = index.sub(keyCount, index.constant(1));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value at = index.min(index.add(firstKey, index.constant(lane)), last), products;
    for (int64_t i = 0; i < count; ++i) {
      Value part = loadFeatures(key, at, i, features);
      products = i == 0 ? arith::MulFOp::create(builder, loc, own[i], part).getResult()
                        : fma(own[i], part, products);
    }
    sums.push_back(products);
    for (int64_t i = lane * ahead / lanes; i < (lane + 1) * ahead / lanes; ++i)
      prefetch(AttentionTerm::Values, value, index.add(firstValue, index.constant(i / lines)),
               i % lines * line);
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
  AtPlace place = writeFor(AttentionTerm::Score);
  Value first = index.add(firstKey, inTile);
  auto wholes = VectorType::get({lanes}, builder.getI32Type());
  SmallVector<int32_t> counting = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  Value steps = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(wholes, ArrayRef<int32_t>(counting)));
  Value places = arith::AddIOp::create(builder, loc, splat(builder, loc, first, lanes), steps),
        last = splat(builder, loc, index.sub(keyCount, index.constant(1)), lanes);
  places = arith::MinSIOp::create(builder, loc, places, last); // hooks read tensors at them
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
          result = inlineHook(builder, op.getBias(), result, positions, op.getCaptures(),
                              AttentionTerm::Bias);
        if (!op.getCap().empty())
          result = inlineHook(builder, op.getCap(), result, {}, {}, AttentionTerm::Cap);
        return result;
      },
      arguments);
  Value left = splat(builder, loc, index.sub(keys, inTile), lanes);
  Value live = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, steps, left);
  if (isMasked) {
    AtPlace place = writeFor(AttentionTerm::Mask);
    Value seen = emitHooks(
        mask,
        [&](ValueRange own) {
          return inlineHook(builder, op.getMask(), {}, own.drop_front(), op.getCaptures(),
                            AttentionTerm::Mask);
        },
        arguments);
    live = arith::AndIOp::create(builder, loc, live, seen);
    Value flags = arith::SelectOp::create(builder, loc, live, constant(1), constant(0));
    storeAt(flags, liveAt(queryRow, inTile));
  }
  {
    AtPlace place = writeFor(isMasked ? AttentionTerm::Mask : AttentionTerm::Score);
    Value none = constant(-std::numeric_limits<double>::infinity());
    scores = arith::SelectOp::create(builder, loc, live, scores, none);
  }
  storeAt(scores, weightsAt(queryRow, inTile));
}

/// Scores of a tile become weights; what was summed before is scaled to the largest score so far.
void FewQueries::weights(Value queryRow, Value keys) {
  AtPlace place = writeFor(AttentionTerm::Weight);
  auto overTile = [&](Value start, llvm::function_ref<Value(Value, Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, zero, keys, laneCount, start);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value place = weightsAt(queryRow, loop.getInductionVar());
    scf::YieldOp::create(builder, loc, body(place, loop.getRegionIterArg(0)));
    return loop.getResult(0);
  };
  Value before = load(states, Part::Largest, queryRow);
  Value largest =
      overTile(before, [&](Value place, Value most) { return larger(most, loadAt(place)); });
  largest = acrossLanes(largest, [&](Value a, Value b) { return larger(a, b); });
  store(largest, states, Part::Largest, queryRow);
  Value from = reference(largest), factor = weightOf(before, from);
  for (int64_t i = 0; i < vectorsOf(valueFeatures); ++i)
    store(product(load(states, Part::Sums, queryRow, i * lanes), factor), states, Part::Sums,
          queryRow, i * lanes);
  Value total = product(load(states, Part::Total, queryRow), factor);
  total = overTile(total, [&](Value place, Value sums) {
    Value weight = weightOf(loadAt(place), from);
    storeAt(weight, place);
    return sum(sums, weight);
  });
  store(total, states, Part::Total, queryRow);
}

//===-- values ------------------------------------------------------------------------------===//

/// Adds a tile's values to the sums of `count` queries. What a query does not see stays behind its
/// mask, NaN and infinities too.
void FewQueries::valuesOf(Value firstQuery, int64_t count, Value firstKey, Value keys,
                          bool isMasked) {
  AtPlace place = writeFor(AttentionTerm::Values);
  int64_t vectors = vectorsOf(valueFeatures);
  SmallVector<Value> rows, sums;
  for (int64_t i = 0; i < count; ++i) {
    rows.push_back(index.add(firstQuery, index.constant(i)));
    for (int64_t v = 0; v < vectors; ++v)
      sums.push_back(load(states, Part::Sums, rows.back(), v * lanes));
  }
  auto loop = scf::ForOp::create(builder, loc, zero, keys, index.constant(1), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value inTile = loop.getInductionVar(), at = index.add(firstKey, inTile);
    for (int64_t column = 0; column < features; column += lineElements(key))
      prefetch(AttentionTerm::Score, key, index.add(at, index.constant(tileKeys)), column);
    SmallVector<Value> parts, next;
    for (int64_t v = 0; v < vectors; ++v)
      parts.push_back(loadFeatures(value, at, v, valueFeatures));
    for (int64_t i = 0; i < count; ++i) {
      auto inAllLanes = [&](Value place) {
        return splat(builder, loc, memref::LoadOp::create(builder, loc, weightPlaces, place),
                     lanes);
      };
      Value weight = inAllLanes(weightsAt(rows[i], inTile)), isLive;
      if (isMasked) {
        AtPlace place = writeFor(AttentionTerm::Mask);
        Value flag = inAllLanes(liveAt(rows[i], inTile));
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
      store(loop.getResult(i * vectors + v), states, Part::Sums, rows[i], v * lanes);
}

void FewQueries::values(Value firstKey, Value keys, bool isMasked) {
  AtPlace place = writeFor(AttentionTerm::Values);
  int64_t size = group(), whole = queries / size * size;
  forLoop(index, zero, index.constant(whole), size,
          [&](Value first) { valuesOf(first, size, firstKey, keys, isMasked); });
  if (whole < queries)
    valuesOf(index.constant(whole), queries - whole, firstKey, keys, isMasked);
}

//===-- the kernel --------------------------------------------------------------------------===//

void FewQueries::tile(Value firstKey, Value keys, bool isMasked) {
  Value all = index.constant(queries);
  {
    AtPlace place = writeFor(AttentionTerm::Score);
    forLoop(index, zero, keys, lanes, [&](Value inTile) {
      forLoop(index, zero, all, 1,
              [&](Value queryRow) { scores(queryRow, firstKey, inTile, keys, isMasked); });
    });
  }
  {
    AtPlace place = writeFor(AttentionTerm::Weight);
    forLoop(index, zero, all, 1, [&](Value queryRow) { weights(queryRow, keys); });
  }
  values(firstKey, keys, isMasked);
}

/// Adds keys [from, to) to the states.
void FewQueries::overKeys(Value from, Value to) {
  Value all = index.constant(queries), one = index.constant(1);
  forLoop(index, zero, all, 1, [&](Value queryRow) {
    for (int64_t v = 0; v < vectorsOf(valueFeatures); ++v) {
      AtPlace place = writeFor(AttentionTerm::Values);
      store(constant(0), states, Part::Sums, queryRow, v * lanes);
    }
    AtPlace place = writeFor(AttentionTerm::Weight);
    store(constant(0), states, Part::Total, queryRow);
    store(constant(-std::numeric_limits<double>::infinity()), states, Part::Largest, queryRow);
  });
  forLoop(index, from, to, tileKeys, [&](Value firstKey) {
    Value keys = index.min(index.constant(tileKeys), index.sub(to, firstKey));
    if (op.getMask().empty())
      return tile(firstKey, keys, false);
    IndexBuilder forMask(builder, atTerm(loc, AttentionTerm::Mask));
    SmallVector<Interval> bounds;
    for (Value position : batch)
      bounds.push_back({position, position});
    bounds.push_back({zero, forMask.sub(all, one)});
    bounds.push_back({firstKey, forMask.sub(forMask.add(firstKey, keys), one)});
    Interval live = boundMask(builder, forMask.loc, op.getMask(), bounds, op.getCaptures());
    choose(forMask, live.hi, [&] {
      choose(
          forMask, live.lo, [&] { tile(firstKey, keys, false); },
          [&] { tile(firstKey, keys, true); });
    });
  });
}

/// A unit of work is a part of a head's keys.
void FewQueries::attend(Value unit) {
  Value partCount = index.constant(parts()), head = index.div(unit, partCount);
  batch = index.delinearize(head, op.getOut(), 0, static_cast<int64_t>(op.getBatch()));
  {
    AtPlace place = writeFor(AttentionTerm::Score);
    query = headOf(op.getQuery(), batch), key = headOf(op.getKey(), batch);
  }
  {
    AtPlace place = writeFor(AttentionTerm::Values);
    value = headOf(op.getValue(), batch);
  }
  keyCount = index.dim(op.getKey(), static_cast<int64_t>(op.getBatch()));
  if (op.getPartials()) {
    Value part = index.rem(unit, partCount);
    OpFoldResult single = builder.getIndexAttr(1);
    states = viewOf(index, op.getPartials(), {head, part}, {single, single}, /*dropped=*/2);
    Value tile = index.constant(tileKeys);
    Value size = index.mul(index.ceilDiv(index.ceilDiv(keyCount, tile), partCount), tile);
    Value from = index.min(index.mul(part, size), keyCount);
    return overKeys(from, index.min(index.add(from, size), keyCount));
  }
  overKeys(zero, keyCount);
  AtPlace place = writeFor(AttentionTerm::Values);
  Value out = headOf(op.getOut(), batch);
  forLoop(index, zero, index.constant(queries), 1, [&](Value queryRow) {
    SmallVector<Value> sums;
    for (int64_t v = 0; v < vectorsOf(valueFeatures); ++v)
      sums.push_back(load(states, Part::Sums, queryRow, v * lanes));
    finish(load(states, Part::Total, queryRow), sums, out, queryRow);
  });
}

void FewQueries::run(const CpuTiling &context) {
  Value heads = index.product(op.getOut(), 0, static_cast<int64_t>(op.getBatch()));
  context.forEachUnit(index, index.mul(heads, index.constant(parts())),
                      [&](Value unit) { attend(unit); });
}

std::string FewQueries::choice() {
  KernelFacts facts(op);
  facts.add("lowering", "few_queries");
  facts.append("tiles", llvm::json::Object{{"keys", tileKeys},
                                           {"queries", llvm::json::Array{int64_t(group())}},
                                           {"parts", parts()}});
  std::string text = op.getMask().empty() ? "online softmax over " : "online softmax over live ";
  text += std::to_string(tileKeys) + " keys, lanes of features, " + std::to_string(group()) +
          (group() == 1 ? " query" : " queries") + " at a time";
  if (parts() > 1)
    text += ", keys in " + std::to_string(parts()) + " parts";
  text += "; too few queries to be the lanes of a vector";
  std::optional<int64_t> keys = AssumedSizes::of(index.dim(op.getKey(), op.getBatch()));
  return text + describeVerdicts(op, {0, queries}, tileStarts(keys, tileKeys));
}

FailureOr<std::string> attn::attendFewQueries(AttentionKernelOp op, const CpuTiling &context,
                                              const ScoreFunction &score) {
  auto out = cast<MemRefType>(op.getOut().getType());
  FewQueriesShape shape{context.target.lanes, out.getShape().back()};
  int64_t queries = out.getDimSize(static_cast<int64_t>(op.getBatch()));
  if (failed(checkScratch(op, shape.scratchFloats(queries, bool(op.getPartials())))))
    return failure();
  FewQueries few(op, context, score);
  few.run(context);
  return few.choice();
}
