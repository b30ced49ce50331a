// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention in f32 with any score, bias, cap, mask, normaliser and further results: a warp has one
// query at a time and goes through its keys 32 by 32. For scores, each lane has a key; for the
// output, neighbouring features of all values, with weights handed around. What was summed is
// rescaled as maxima grow (online softmax: Milakov and Gimelshein 2018). Where the keys of a head
// are divided, a warp has one part of them, and leaves what it summed to WarpCombine.
#include "compiler/gpu/attention/Attention.h"
#include "compiler/gpu/attention/ScoreElements.h"
#include "compiler/gpu/threads/TensorCores.h"
#include "compiler/gpu/threads/Warp.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "compiler/support/Errors.h"
#include "compiler/transforms/FewQueries.h"
#include "compiler/transforms/MaskIntervals.h"
#include "dialect/Reasons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

class AttentionWarp : Warp {
public:
  AttentionWarp(AttentionKernelOp op, const ScoreFunction &score, OpBuilder &builder);

  void run(const TilingContext &context);
  /// Number `number`, of all heads.
  void query(Value number, std::optional<PartOfKeys> keys);

private:
  /// What is carried from keys to keys.
  struct State {
    Value maximum, sum, best;   ///< the largest score, the sum of weights, hardmax's key
    SmallVector<Value> outputs; ///< sums of values: features lane, lane + 32, ...

    SmallVector<Value> values() const {
      SmallVector<Value> all{maximum, sum, best};
      llvm::append_range(all, outputs);
      return all;
    }
    static State of(ValueRange values) {
      return {values[0], values[1], values[2], SmallVector<Value>(values.drop_front(3))};
    }
  };

  void unit(Value unit);
  State initial();
  State overKeys(Value from, Value to);
  State tile(Value firstKey, Value to, const State &before);
  Value dot(Value key);
  Value productOf(Value key, bool inEights);
  Value combined(Value e, Value key, Region &combine);
  /// The score of a lane's key, as weights are computed of it, and where they are returned.
  Value scoreOf(Value key, Value isThere, ValueRange pair);
  Value pointwise(Value score);
  Value weigh(Value own, Value key, State &state, Value &factor);
  void addValues(Value weight, Value firstKey, Value count, State &state);
  void storePart(const State &state);
  void storeOutput(const State &state);
  void storeWeights(const State &state, Value scale);

  bool isPointwise() {
    return op.getNormaliser() != Normaliser::Softmax && op.getNormaliser() != Normaliser::Hardmax;
  }
  SmallVector<Value> placeOf(Value row, Value column) {
    SmallVector<Value> place(batch);
    place.append({row, column});
    return place;
  }
  Value number(double value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value equals(Value a, double b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, number(b));
  }
  Value isBelow(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
  }
  Value isEqual(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  /// The larger of two numbers, and the number where the other is NaN: NaN comes back with its
  /// weight.
  Value larger(Value a, Value b) { return arith::MaxNumFOp::create(builder, loc, a, b); }
  /// exp(a - b)
  Value expOfDifference(Value a, Value b) {
    return math::ExpOp::create(builder, loc, arith::SubFOp::create(builder, loc, a, b));
  }
  /// Something to subtract: of a row of -inf alone, weights are exp(-inf).
  Value shiftOf(const State &state) {
    return select(equals(state.maximum, none), number(0), state.maximum);
  }
  scf::ForOp loopOver(Value from, Value to, Value step, ValueRange inits) {
    return scf::ForOp::create(builder, loc, from, to, step, inits,
                              [](OpBuilder &, Location, Value, ValueRange) {});
  }
  /// For each of the lane's features.
  void forFeatures(llvm::function_ref<void(int64_t part, Value feature)> body);

  AttentionKernelOp op;
  ScoreFunction score;
  ScoreElements elements;
  TensorCores cores;
  GlobalRows queryRows, keyRows;
  Value areAligned; ///< queries' rows and keys', at 16 bytes
  int64_t batchDims, features, valueFeatures, parts;
  Value keyCount;
  // What belongs to the query that is computed.
  SmallVector<Value> batch;
  Value head, row, keyPart;
};

} // namespace

AttentionWarp::AttentionWarp(AttentionKernelOp op, const ScoreFunction &score, OpBuilder &builder)
    : Warp(builder, op.getLoc()), op(op), score(score), elements(op, score, builder),
      cores(builder, op.getLoc(), halfOf(op)), queryRows(cores, op.getQuery()),
      keyRows(cores, op.getKey()), batchDims(static_cast<int64_t>(op.getBatch())),
      features(keyRows.features) {
  areAligned = both(queryRows.areAligned(16), keyRows.areAligned(16));
  valueFeatures = op.getValue().getType().getShape().back();
  parts = op.getPartials() ? cast<MemRefType>(op.getPartials().getType()).getDimSize(1) : 1;
  keyCount = index.dim(op.getKey(), batchDims);
}

void AttentionWarp::forFeatures(llvm::function_ref<void(int64_t, Value)> body) {
  for (int64_t part = 0; part * lanes < valueFeatures; ++part) {
    Value feature = index.add(lane, index.constant(part * lanes));
    choose(index, isBelow(feature, index.constant(valueFeatures)), [&] { body(part, feature); });
  }
}

//===-- scores ------------------------------------------------------------------------------===//

/// What feature e adds to a sum that is no product.
Value AttentionWarp::combined(Value e, Value key, Region &combine) {
  SmallVector<Value> own{load(op.getQuery(), placeOf(row, e)), load(op.getKey(), placeOf(key, e))};
  Block &region = op.getScore().front();
  size_t firstCapture = region.getNumArguments() - op.getCaptures().size();
  for (ElementOp vector : score.vectors) {
    auto argument = cast<BlockArgument>(vector.getTensor());
    SmallVector<Value> place;
    for (Value position : vector.getPositions()) {
      auto known = constantIndex(position);
      place.push_back(known ? index.constant(*known)
                            : batch[cast<BlockArgument>(position).getArgNumber() - 2]);
    }
    place.push_back(e);
    own.push_back(load(op.getCaptures()[argument.getArgNumber() - firstCapture], place));
  }
  return inlineHook(builder, combine, own, {}, {});
}

/// Feature by feature, in the same order whether they are read one by one or eight at a time.
Value AttentionWarp::productOf(Value key, bool inEights) {
  int64_t step = inEights ? 8 : 1;
  auto loop =
      loopOver(index.constant(0), index.constant(features), index.constant(step), number(0));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  Value e = loop.getInductionVar(), sum = loop.getRegionIterArg(0);
  SmallVector<Value> q, k;
  if (inEights) {
    auto eight = [&](const GlobalRows &rows, Value at) {
      Value bytes = index.mul(e, index.constant(rows.elementBytes));
      SmallVector<Value> place(batch);
      place.push_back(at);
      return rows.loadEight(cores.at(rows.row(place), bytes));
    };
    q = eight(queryRows, row), k = eight(keyRows, key);
  } else {
    q = {load(op.getQuery(), placeOf(row, e))}, k = {load(op.getKey(), placeOf(key, e))};
  }
  for (int64_t i = 0; i < step; ++i)
    sum = math::FmaOp::create(builder, loc, q[i], k[i], sum);
  scf::YieldOp::create(builder, loc, sum);
  return loop.getResult(0);
}

Value AttentionWarp::dot(Value key) {
  if (score.isProduct) {
    if (features % 8 != 0)
      return productOf(key, false);
    auto product = [&](bool inEights) {
      return [&, inEights](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, productOf(key, inEights));
      };
    };
    return scf::IfOp::create(builder, loc, areAligned, product(true), product(false)).getResult(0);
  }
  Region combine;
  score.emitCombine(combine, builder);
  auto loop = loopOver(index.constant(0), index.constant(features), index.constant(1), number(0));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  Value sum = arith::AddFOp::create(builder, loc, loop.getRegionIterArg(0),
                                    combined(loop.getInductionVar(), key, combine));
  scf::YieldOp::create(builder, loc, sum);
  return loop.getResult(0);
}

Value AttentionWarp::scoreOf(Value key, Value isThere, ValueRange pair) {
  auto give = [&](Returned kind, Value score) {
    if (Value buffer = op.furtherOf(kind))
      choose(index, isThere, [&] { store(score, buffer, pair); });
    return score;
  };
  Value raw = give(Returned::Raw, elements.raw(dot(key), pair));
  Value biased = give(Returned::Biased, elements.biased(raw, pair));
  return give(Returned::Capped, elements.capped(biased));
}

//===-- weights -----------------------------------------------------------------------------===//

AttentionWarp::State AttentionWarp::initial() {
  int64_t own = llvm::divideCeil(valueFeatures, lanes);
  State state{number(none), number(0), index.constant(-1), SmallVector<Value>(own, number(0))};
  if (!elements.hasSink())
    return state;
  SmallVector<Value> positions(batch);
  positions.push_back(row);
  state.maximum = elements.sink(positions);
  state.sum = select(equals(state.maximum, none), number(0), number(1));
  return state;
}

/// The weight of a score that looks at no other.
Value AttentionWarp::pointwise(Value score) {
  switch (op.getNormaliser()) {
  case Normaliser::Sigmoid: {
    Value power = math::ExpOp::create(builder, loc, arith::NegFOp::create(builder, loc, score));
    Value sum = arith::AddFOp::create(builder, loc, number(1), power);
    return arith::DivFOp::create(builder, loc, number(1), sum);
  }
  case Normaliser::Relu:
    return arith::MaximumFOp::create(builder, loc, score, number(0));
  case Normaliser::ReluMean: {
    Value positive = arith::MaximumFOp::create(builder, loc, score, number(0));
    Value count = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), keyCount);
    Value real = arith::SIToFPOp::create(builder, loc, builder.getF32Type(), count);
    return arith::DivFOp::create(builder, loc, positive, real);
  }
  default:
    return score;
  }
}

/// The weight of a lane's score, -inf where there is none, and what sums before are to be
/// multiplied with.
Value AttentionWarp::weigh(Value own, Value key, State &state, Value &factor) {
  Value before = state.maximum;
  state.maximum = larger(before, combine(own, [&](Value a, Value b) { return larger(a, b); }));
  if (op.getNormaliser() == Normaliser::Hardmax) { // the first of the largest has it all
    Value isNew =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, state.maximum, before);
    Value isLargest =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, own, state.maximum);
    Type i32 = builder.getI32Type();
    auto asWord = [&](Value number) -> Value {
      return arith::IndexCastOp::create(builder, loc, i32, number);
    };
    Value candidate = select(isLargest, asWord(lane), asWord(index.constant(lanes)));
    Value first = combine(candidate, [&](Value a, Value b) -> Value {
      return arith::MinUIOp::create(builder, loc, a, b);
    });
    Value takes = both(
        isNew, arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, first, asWord(lane)));
    Value firstLane = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), first);
    state.best = select(isNew, index.add(index.sub(key, lane), firstLane), state.best);
    factor = select(isNew, number(0), number(1));
    return select(takes, number(1), number(0));
  }
  Value shift = shiftOf(state);
  factor = expOfDifference(before, shift);
  Value weight = expOfDifference(own, shift);
  state.sum = arith::AddFOp::create(builder, loc, mul(state.sum, factor), sum(weight));
  return weight;
}

/// The values of `count` keys, eight at a time, so that as many are on their way.
void AttentionWarp::addValues(Value weight, Value firstKey, Value count, State &state) {
  constexpr int64_t group = 8;
  Value last = index.sub(count, index.constant(1));
  auto loop = loopOver(index.constant(0), count, index.constant(group), state.outputs);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> sums(loop.getRegionIterArgs());
  SmallVector<SmallVector<Value>> values;
  for (int64_t i = 0; i < group; ++i) {
    Value at =
        index.add(firstKey, index.min(index.add(loop.getInductionVar(), index.constant(i)), last));
    values.emplace_back();
    for (size_t part = 0; part < sums.size(); ++part) {
      Value feature = index.min(index.add(lane, index.constant(static_cast<int64_t>(part) * lanes)),
                                index.constant(valueFeatures - 1));
      values.back().push_back(load(op.getValue(), placeOf(at, feature)));
    }
  }
  for (int64_t i = 0; i < group; ++i) {
    Value of = index.add(loop.getInductionVar(), index.constant(i)), given = broadcast(weight, of);
    // A value behind the mask, or the last key, adds nothing, not even 0 * inf.
    Value counts =
        elements.isMasked()
            ? arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, given, number(0))
                  .getResult()
            : isBelow(of, count);
    for (auto [value, sum] : llvm::zip_equal(values[i], sums))
      sum = select(counts, math::FmaOp::create(builder, loc, given, value, sum), sum);
  }
  scf::YieldOp::create(builder, loc, sums);
  state.outputs.assign(loop.getResults().begin(), loop.getResults().end());
}

/// 32 keys.
AttentionWarp::State AttentionWarp::tile(Value firstKey, Value to, const State &before) {
  Value key = index.add(firstKey, lane), isThere = isBelow(key, to);
  Value at = index.min(key, index.sub(to, index.constant(1)));
  SmallVector<Value> pair = placeOf(row, at);
  Value own = scoreOf(at, isThere, pair), counts = isThere, nothing = number(none);
  if (elements.isMasked())
    counts = both(counts, elements.isLive(pair));
  if (isPointwise())
    own = pointwise(own), nothing = number(0);
  own = select(counts, own, nothing);
  if (Value weights = op.furtherOf(Returned::Weights))
    choose(index, isThere, [&] { store(own, weights, pair); }); // of softmax, the score for now
  State state = before;
  Value weight = own, factor;
  if (!isPointwise()) {
    weight = weigh(own, key, state, factor);
    for (Value &output : state.outputs)
      output = mul(output, factor);
  }
  addValues(weight, firstKey, index.min(index.constant(lanes), index.sub(to, firstKey)), state);
  return state;
}

/// Tiles that the mask empties are passed by, but where something of every key is returned.
AttentionWarp::State AttentionWarp::overKeys(Value from, Value to) {
  auto loop = loopOver(from, to, index.constant(lanes), initial().values());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  Value firstKey = loop.getInductionVar();
  State before = State::of(loop.getRegionIterArgs());
  if (!elements.isMasked() || !op.getFurther().empty()) {
    scf::YieldOp::create(builder, loc, tile(firstKey, to, before).values());
    return State::of(loop.getResults());
  }
  SmallVector<Interval> bounds;
  for (Value position : batch)
    bounds.push_back({position, position});
  bounds.push_back({row, row});
  Value end = index.min(index.add(firstKey, index.constant(lanes)), to);
  bounds.push_back({firstKey, index.sub(end, index.constant(1))});
  Interval live = boundMask(builder, loc, op.getMask(), bounds, op.getCaptures());
  auto branch = scf::IfOp::create(
      builder, loc, live.hi,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, tile(firstKey, to, before).values());
      },
      [&](OpBuilder &, Location) { scf::YieldOp::create(builder, loc, before.values()); });
  scf::YieldOp::create(builder, loc, branch.getResults());
  return State::of(loop.getResults());
}

//===-- results -----------------------------------------------------------------------------===//

/// Weights were left as scores, each by the lane that reads it.
void AttentionWarp::storeWeights(const State &state, Value scale) {
  Value weights = op.furtherOf(Returned::Weights), shift = shiftOf(state);
  forEach(keyCount, [&](Value key) {
    SmallVector<Value> pair = placeOf(row, key);
    Value weight;
    if (op.getNormaliser() == Normaliser::Hardmax)
      weight = select(isEqual(key, state.best), number(1), number(0));
    else
      weight = mul(expOfDifference(load(weights, pair), shift), scale);
    store(weight, weights, pair);
  });
}

void AttentionWarp::storeOutput(const State &state) {
  Value scale = number(1);
  if (op.getNormaliser() == Normaliser::Softmax)
    scale = select(equals(state.sum, 0), number(0),
                   arith::DivFOp::create(builder, loc, number(1), state.sum));
  forFeatures([&](int64_t part, Value feature) {
    store(mul(state.outputs[part], scale), op.getOut(), placeOf(row, feature));
  });
  if (op.furtherOf(Returned::Weights) && !isPointwise())
    storeWeights(state, scale);
  if (Value lse = op.furtherOf(Returned::LogSumExp))
    choose(index, isEqual(lane, index.constant(0)), [&] {
      SmallVector<Value> place(batch);
      place.push_back(row);
      Value log = math::LogOp::create(builder, loc, state.sum);
      store(arith::AddFOp::create(builder, loc, shiftOf(state), log), lse, place);
    });
}

/// compiler/transforms/FewQueries.h has the state's layout; vectors are of one lane here.
void AttentionWarp::storePart(const State &state) {
  FewQueriesShape shape{/*lanes=*/1, valueFeatures};
  Value start = index.mul(row, index.constant(shape.stateFloats()));
  auto placeOf = [&](Value at) { return SmallVector<Value>{head, keyPart, index.add(start, at)}; };
  forFeatures([&](int64_t part, Value feature) {
    store(state.outputs[part], op.getPartials(), placeOf(feature));
  });
  choose(index, isEqual(lane, index.constant(0)), [&] {
    store(state.sum, op.getPartials(), placeOf(index.constant(shape.sumFloats())));
    store(state.maximum, op.getPartials(), placeOf(index.constant(shape.sumFloats() + 1)));
  });
}

void AttentionWarp::query(Value number, std::optional<PartOfKeys> keys) {
  Value queries = index.dim(op.getOut(), batchDims);
  row = index.rem(number, queries), head = index.div(number, queries);
  batch = index.delinearize(head, op.getOut(), 0, batchDims);
  if (!keys)
    return storeOutput(overKeys(index.constant(0), keyCount));
  keyPart = keys->part;
  storePart(overKeys(keys->from, keys->to));
}

/// Neighbouring warps have the queries of a head and read the same part of its keys.
void AttentionWarp::unit(Value unit) {
  if (!op.getPartials())
    return query(unit, {});
  Value partCount = index.constant(parts), queries = index.dim(op.getOut(), batchDims),
        shared = index.div(unit, queries), part = index.rem(shared, partCount);
  Value number =
            index.add(index.mul(index.div(shared, partCount), queries), index.rem(unit, queries)),
        tile = index.constant(lanes),
        size = index.mul(index.ceilDiv(index.ceilDiv(keyCount, tile), partCount), tile),
        from = index.min(index.mul(part, size), keyCount);
  query(number, PartOfKeys{part, from, index.min(index.add(from, size), keyCount)});
}

void AttentionWarp::run(const TilingContext &context) {
  Value units = index.mul(index.product(op.getOut(), 0, batchDims + 1), index.constant(parts));
  context.forEachUnit(index, units, [&](Value number) { unit(number); });
}

void attn::emitQueryOfWarp(AttentionKernelOp op, const ScoreFunction &score, OpBuilder &builder,
                           Value query, std::optional<PartOfKeys> keys) {
  AttentionWarp(op, score, builder).query(query, keys);
}

/// Writes an attention's code. `maps`: of Hopper's kernel.
static LogicalResult emitAttention(Operation *kernel, const TilingContext &context,
                                   ValueRange maps) {
  auto op = cast<AttentionKernelOp>(kernel);
  auto score = ScoreFunction::of(op, op.getScore());
  if (failed(score))
    return failure();
  if (!maps.empty()) {
    emitHopperAttention(op, *score, context, maps);
  } else if (usesTensorCores(op)) {
    emitBlockAttention(op, *score, context);
  } else {
    OpBuilder builder(op);
    AttentionWarp(op, *score, builder).run(context);
  }
  return success();
}

KernelLaunches attn::launchesOf(AttentionKernelOp op, const LaunchOptions &options) {
  bool isHoppers = options.target.hasWarpGroups && isHopperAttention(op);
  StringRef obstacle = obstacleToTensorCores(op), chip = options.target.name;
  if (!obstacle.empty())
    missed(op, Reason::NoTensorCores, "this attention does not run on tensor cores: " + obstacle,
           halfOf(op) ? "" : "`--precision=bf16` or `f16` multiplies on them", chip);
  else if (options.target.hasWarpGroups && !isHoppers)
    missed(op, Reason::NoWarpGroups,
           "this attention runs without the copy engine and products of warp groups",
           "both take queries, keys and values whose features are a multiple of 8, at addresses "
           "that are multiples of 16 bytes",
           chip);
  KernelLaunch launch = isHoppers ? launchHopperAttention(op) : KernelLaunch();
  launch.workers = usesTensorCores(op) ? WorkerKind::Block : WorkerKind::Warp;
  launch.emit = emitAttention;
  return SmallVector<KernelLaunch>{launch};
}
