// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention in f32 with any score, bias, cap and mask: a warp has one query at a time and goes
// through its keys 32 by 32. For scores, each lane has a key; for the output, neighbouring features
// of all values, with weights handed around. What was summed is rescaled as maxima grow (online
// softmax: Milakov and Gimelshein 2018). Keys are not divided: partial results are left alone.
#include "compiler/Errors.h"
#include "compiler/cpu/ScoreFunction.h"
#include "compiler/cpu/VectorizeRegion.h"
#include "compiler/gpu/Kernels.h"
#include "compiler/gpu/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

class AttentionWarp : Warp {
public:
  AttentionWarp(AttentionKernelOp op, const ScoreFunction &score, OpBuilder &builder)
      : Warp(builder, op.getLoc()), op(op), score(score),
        batchDims(static_cast<int64_t>(op.getBatch())) {
    valueFeatures = op.getValue().getType().getShape().back();
    parts = llvm::divideCeil(valueFeatures, lanes);
    keyCount = index.dim(op.getKey(), batchDims);
  }

  void run(const TilingContext &context);
  void query(Value unit);

private:
  /// What is carried from keys to keys: the largest score, the sum of weights, sums of values.
  struct State {
    Value maximum, sum;
    SmallVector<Value> outputs; // features lane, lane + 32, ...

    SmallVector<Value> values() const {
      SmallVector<Value> all{maximum, sum};
      llvm::append_range(all, outputs);
      return all;
    }
    static State of(ValueRange values) {
      return {values[0], values[1], SmallVector<Value>(values.drop_front(2))};
    }
  };

  State initial();
  State tile(Value firstKey, const State &before);
  /// Score of the query and a key, as weights are computed of it; -inf behind the mask.
  Value scoreOf(Value key);
  Value dot(Value key);
  SmallVector<Value> placeOf(Value row, Value column) {
    SmallVector<Value> place(batch);
    place.append({row, column});
    return place;
  }
  Value number(double value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value load(Value buffer, ValueRange place) { return loadFloat(builder, loc, buffer, place); }
  Value equals(Value a, double b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, number(b));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  /// exp(a - b)
  Value expOfDifference(Value a, Value b) {
    return math::ExpOp::create(builder, loc, arith::SubFOp::create(builder, loc, a, b));
  }

  AttentionKernelOp op;
  ScoreFunction score;
  int64_t batchDims, valueFeatures, parts;
  Value keyCount;
  // Of a query.
  SmallVector<Value> batch;
  Value row;
};

} // namespace

Value AttentionWarp::dot(Value key) {
  Region combine;
  if (!score.isProduct)
    score.emitCombine(combine, builder);
  Value features = index.constant(op.getKey().getType().getShape().back());
  auto loop = scf::ForOp::create(builder, loc, index.constant(0), features, index.constant(1),
                                 number(0), [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  Value e = loop.getInductionVar(), sum = loop.getRegionIterArg(0);
  Value q = load(op.getQuery(), placeOf(row, e)), k = load(op.getKey(), placeOf(key, e));
  if (score.isProduct) {
    sum = math::FmaOp::create(builder, loc, q, k, sum);
  } else {
    SmallVector<Value> elements{q, k};
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
      elements.push_back(load(op.getCaptures()[argument.getArgNumber() - firstCapture], place));
    }
    sum = arith::AddFOp::create(builder, loc, sum, inlineHook(builder, combine, elements, {}, {}));
  }
  scf::YieldOp::create(builder, loc, sum);
  return loop.getResult(0);
}

Value AttentionWarp::scoreOf(Value key) {
  SmallVector<Value> pair(batch);
  pair.append({row, key});
  IRMapping mapping;
  SmallVector<Value> known(pair);
  llvm::append_range(known, op.getCaptures());
  for (auto [argument, value] :
       llvm::zip_equal(op.getScore().front().getArguments().drop_front(2), known))
    mapping.map(argument, value);
  Value result = score.emit(dot(key), mapping, builder);
  if (!op.getBias().empty())
    result = inlineHook(builder, op.getBias(), result, pair, op.getCaptures());
  if (!op.getCap().empty())
    result = inlineHook(builder, op.getCap(), result, {}, op.getCaptures());
  if (op.getMask().empty())
    return result;
  Value isLive = inlineHook(builder, op.getMask(), {}, pair, op.getCaptures());
  return select(isLive, result, number(-std::numeric_limits<double>::infinity()));
}

AttentionWarp::State AttentionWarp::initial() {
  double none = -std::numeric_limits<double>::infinity();
  State state{number(none), number(0), SmallVector<Value>(parts, number(0))};
  if (op.getSink().empty())
    return state;
  SmallVector<Value> positions(batch);
  positions.push_back(row);
  state.maximum = inlineHook(builder, op.getSink(), {}, positions, op.getCaptures());
  state.sum = select(equals(state.maximum, none), number(0), number(1));
  return state;
}

/// 32 keys.
AttentionWarp::State AttentionWarp::tile(Value firstKey, const State &before) {
  double none = -std::numeric_limits<double>::infinity();
  Value key = index.add(firstKey, lane), last = index.sub(keyCount, index.constant(1));
  Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, key, keyCount);
  Value own = select(isThere, scoreOf(index.min(key, last)), number(none));
  auto larger = [&](Value a, Value b) -> Value { // NaN comes back with its weight
    return arith::MaxNumFOp::create(builder, loc, a, b);
  };
  State state;
  state.maximum = larger(before.maximum, combine(own, larger));
  // Something to subtract: of a row of -inf alone, weights are exp(-inf).
  Value shift = select(equals(state.maximum, none), number(0), state.maximum);
  Value factor = expOfDifference(before.maximum, shift), weight = expOfDifference(own, shift);
  state.sum = arith::AddFOp::create(builder, loc, mul(before.sum, factor), sum(weight));
  SmallVector<Value> sums;
  for (Value output : before.outputs)
    sums.push_back(mul(output, factor));
  Value count = index.min(index.constant(lanes), index.sub(keyCount, firstKey));
  auto loop = scf::ForOp::create(builder, loc, index.constant(0), count, index.constant(1), sums,
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  Value of = loop.getInductionVar(), given = broadcast(weight, of), at = index.add(firstKey, of);
  // A value behind the mask adds nothing, not even 0 * inf.
  Value isLive = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, given, number(0));
  SmallVector<Value> next;
  for (auto [part, sum] : llvm::enumerate(loop.getRegionIterArgs())) {
    Value feature =
        index.min(index.add(lane, index.constant(part * lanes)), index.constant(valueFeatures - 1));
    Value value = load(op.getValue(), placeOf(at, feature));
    Value added = math::FmaOp::create(builder, loc, given, value, sum);
    next.push_back(op.getMask().empty() ? added : select(isLive, added, sum));
  }
  scf::YieldOp::create(builder, loc, next);
  llvm::append_range(state.outputs, loop.getResults());
  return state;
}

void AttentionWarp::query(Value unit) {
  batch = index.delinearize(unit, op.getOut(), 0, batchDims + 1);
  row = batch.pop_back_val();
  auto loop =
      scf::ForOp::create(builder, loc, index.constant(0), keyCount, index.constant(lanes),
                         initial().values(), [](OpBuilder &, Location, Value, ValueRange) {});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    State before = State::of(loop.getRegionIterArgs());
    scf::YieldOp::create(builder, loc, tile(loop.getInductionVar(), before).values());
  }
  State state = State::of(loop.getResults());
  Value quotient = arith::DivFOp::create(builder, loc, number(1), state.sum);
  Value scale = select(equals(state.sum, 0), number(0), quotient);
  for (int64_t part = 0; part < parts; ++part) {
    Value feature = index.add(lane, index.constant(part * lanes));
    Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, feature,
                                          index.constant(valueFeatures));
    choose(index, isThere, [&] {
      storeFloat(builder, loc, mul(state.outputs[part], scale), op.getOut(), placeOf(row, feature));
    });
  }
}

void AttentionWarp::run(const TilingContext &context) {
  Value units = index.product(op.getOut(), 0, batchDims + 1);
  forEachUnit(index, units, context.thread, context.threads, [&](Value unit) { query(unit); });
}

void attn::emitQueryOfWarp(AttentionKernelOp op, const ScoreFunction &score, OpBuilder &builder,
                           Value query) {
  AttentionWarp(op, score, builder).query(query);
}

LogicalResult attn::emitAttention(AttentionKernelOp op, const TilingContext &context,
                                  ValueRange maps) {
  auto score = ScoreFunction::of(op, op.getScore());
  if (failed(score))
    return failure();
  if (!maps.empty()) {
    emitHopperAttention(op, *score, context, maps);
    return success();
  }
  if (usesTensorCores(op)) {
    emitBlockAttention(op, *score, context);
    return success();
  }
  if (op.getNormaliser() != Normaliser::Softmax || !op.getFurther().empty())
    return emitErrorOf(ErrorKind::Input, op.getLoc())
           << "attention has no code for GPUs yet that returns scores or weights, or normalises "
              "otherwise than by softmax";
  OpBuilder builder(op);
  AttentionWarp(op, *score, builder).run(context);
  return success();
}
