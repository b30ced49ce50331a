// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores of a warp's rows in fragments to scores with hooks and masks, and sums in fragments to the
// output.
#include "compiler/gpu/attention/AttentionFragments.h"
#include "compiler/transforms/FewQueries.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace attn;

/// Whether there are registers left for two ways to compute an exponent; masks take some.
static bool fusesExponents(AttentionKernelOp op) {
  return op.getOut().getType().getShape().back() <= (op.getMask().empty() ? 248 : 192);
}

static double unitOf(ScoreElements &elements, const ScoreFunction &score) {
  constexpr double log2e = 1.4426950408889634;
  return elements.isProportional() ? *score.factor * log2e : log2e;
}

AttentionFragments::AttentionFragments(AttentionKernelOp op, const ScoreFunction &score,
                                       const TensorCores &cores, int64_t tileKeys, bool packsRows)
    : cores(cores), index(cores.index), rows(op, index, packsRows),
      elements(op, score, cores.builder),
      softmax(cores, unitOf(elements, score), fusesExponents(op)), tileKeys(tileKeys), op(op),
      out(cores, op.getOut()) {
  std::optional<int64_t> keyCount = constantIndex(rows.keyCount);
  hasTail = !keyCount || *keyCount % tileKeys != 0;
  tileCount = index.ceilDiv(rows.keyCount, index.constant(tileKeys));
}

Value AttentionFragments::isBelow(Value a, Value b) const {
  return cores.builder.createOrFold<arith::CmpIOp>(cores.loc, arith::CmpIPredicate::ult, a, b);
}

Value AttentionFragments::asWord(Value position) const {
  Type i32 = cores.builder.getI32Type();
  return cores.builder.createOrFold<arith::IndexCastUIOp>(cores.loc, i32, position);
}

Value AttentionFragments::fromWord(Value word) const {
  Type type = cores.builder.getIndexType();
  return cores.builder.createOrFold<arith::IndexCastUIOp>(cores.loc, type, word);
}

void AttentionFragments::enter(ArrayRef<Value> newHead, Value first, int64_t count, Value offset) {
  head.assign(newHead.begin(), newHead.end());
  Value last = index.sub(rows.count, index.constant(1));
  auto inside = [&](Value row) { return index.min(row, last); };
  blockFirst = first, blockLast = inside(index.add(first, index.constant(count - 1)));
  warpStart = index.add(first, offset);
  warpFirst = inside(warpStart), warpLast = inside(index.add(warpStart, index.constant(15)));
  for (int64_t r = 0; r < 2; ++r) {
    positions[r] = rows.positionsOf(
        head, inside(index.add(warpStart, index.add(cores.g, index.constant(8 * r)))));
    for (Value &position : positions[r])
      position = fromWord(asWord(position));
  }
}

FragmentSoftmax::State AttentionFragments::initial() {
  std::optional<std::array<Value, 2>> sinks;
  if (elements.hasSink())
    sinks = {elements.sink(positions[0]), elements.sink(positions[1])};
  return softmax.initial(sinks);
}

Value AttentionFragments::nextTile(Value from) {
  return elements.isMasked() ? rows.nextTile(cores, head, blockFirst, blockLast, tileKeys, from)
                             : from;
}

Value AttentionFragments::isPartial(Value tile) {
  if (!elements.isMasked())
    return index.truth(false);
  Value firstKey = firstKeyOf(tile), end = index.add(firstKey, index.constant(tileKeys));
  Value lastKey = index.sub(index.min(end, rows.keyCount), index.constant(1));
  Interval live = rows.boundTile(head, blockFirst, blockLast, firstKey, lastKey);
  return cores.builder.createOrFold<arith::XOrIOp>(cores.loc, live.lo, index.truth(true));
}

Value AttentionFragments::needsTest(Value tile) {
  OpBuilder &builder = cores.builder;
  Value result = index.truth(false);
  Value firstKey = firstKeyOf(tile), end = index.add(firstKey, index.constant(tileKeys));
  if (hasTail)
    result = isBelow(rows.keyCount, end);
  if (!elements.isMasked())
    return result;
  Value lastKey = index.sub(index.min(end, rows.keyCount), index.constant(1));
  Interval live = rows.boundTile(head, warpFirst, warpLast, firstKey, lastKey);
  Value isPartial = builder.createOrFold<arith::XOrIOp>(cores.loc, live.lo, index.truth(true));
  return builder.createOrFold<arith::OrIOp>(cores.loc, result, isPartial);
}

void AttentionFragments::applyHooks(MutableArrayRef<Value> scores, Value firstKey, bool isTested) {
  OpBuilder &builder = cores.builder;
  Location loc = cores.loc;
  auto select = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  };
  Value none = cores.number(-std::numeric_limits<double>::infinity());
  Value own = asWord(index.add(firstKey, index.mul(cores.t, index.constant(2)))),
        last = index.sub(rows.keyCount, index.constant(1));
  SmallVector<Value> pairs[2] = {positions[0], positions[1]};
  for (SmallVector<Value> &pair : pairs)
    pair.back() = fromWord(cores.opaque(asWord(pair.back())));
  Value left = arith::SubIOp::create(builder, loc, asWord(rows.keyCount), own);
  for (auto [i, score] : llvm::enumerate(scores)) {
    auto [r, column] = FragmentPlace::of(static_cast<int64_t>(i));
    auto noOverflow = arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
    Value at =
        fromWord(arith::AddIOp::create(builder, loc, own, cores.integer(column), noOverflow));
    Value isThere =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, cores.integer(column), left);
    if (isTested && hasTail && elements.readsTensors())
      at = index.min(at, last);
    SmallVector<Value> pair(pairs[r]);
    pair.push_back(at);
    if (!elements.isProportional())
      score = elements.of(score, pair);
    if (!isTested)
      continue;
    if (elements.isMasked())
      score = select(elements.isLive(pair), score, none);
    if (hasTail)
      score = select(isThere, score, none);
  }
}

Value AttentionFragments::applyHooks(MutableArrayRef<Value> scores, Value tile) {
  OpBuilder &builder = cores.builder;
  Value isTested = needsTest(tile), firstKey = firstKeyOf(tile);
  auto hooked = [&](bool isTested) {
    SmallVector<Value> result(scores);
    applyHooks(result, firstKey, isTested);
    return result;
  };
  SmallVector<Value> results;
  if (auto known = constantIndex(isTested)) {
    results = hooked(*known != 0);
  } else {
    auto body = [&](bool isTested) {
      return [&, isTested](OpBuilder &, Location loc) {
        scf::YieldOp::create(builder, loc, hooked(isTested));
      };
    };
    results = scf::IfOp::create(builder, cores.loc, isTested, body(true), body(false)).getResults();
  }
  llvm::copy(results, scores.begin());
  return isTested;
}

void AttentionFragments::store(ArrayRef<Value> sums, const FragmentSoftmax::State &state) {
  OpBuilder &builder = cores.builder;
  Location loc = cores.loc;
  std::array<Value, 2> inverses = softmax.inverses(state);
  Value first = index.mul(cores.t, index.constant(2));
  auto storeRow = [&](int64_t r, bool inPairs) {
    Value row = out.row(positions[r]);
    for (int64_t tile = 0; tile < static_cast<int64_t>(sums.size()) / 4; ++tile) {
      SmallVector<Value> pair;
      for (int64_t c = 0; c < 2; ++c)
        pair.push_back(
            arith::MulFOp::create(builder, loc, sums[4 * tile + 2 * r + c], inverses[r]));
      Value feature = index.add(first, index.constant(8 * tile));
      if (inPairs)
        out.storePair(pair, row, feature);
      for (int64_t c = 0; c < 2 && !inPairs; ++c) {
        Value own = index.add(feature, index.constant(c));
        choose(index, isBelow(own, index.constant(out.features)),
               [&] { out.store(pair[c], row, own); });
      }
    }
  };
  Value inPairs = out.features % 8 == 0 ? out.areAligned(2 * out.elementBytes) : index.truth(false);
  for (int64_t r = 0; r < 2; ++r) {
    Value row = index.add(warpStart, index.add(cores.g, index.constant(8 * r)));
    choose(index, isBelow(row, rows.count), [&] {
      choose(index, inPairs, [&] { storeRow(r, true); }, [&] { storeRow(r, false); });
    });
  }
}

void AttentionFragments::storePart(ArrayRef<Value> sums, const FragmentSoftmax::State &state,
                                   Value headNumber, Value part) {
  constexpr double ln2 = 0.6931471805599453;
  OpBuilder &builder = cores.builder;
  Location loc = cores.loc;
  FewQueriesShape shape{/*lanes=*/1, out.features};
  Value queryCount = index.dim(op.getOut(), static_cast<int64_t>(op.getBatch()));
  Value first = index.mul(cores.t, index.constant(2));
  for (int64_t r = 0; r < 2; ++r) {
    Value row = index.add(warpStart, index.add(cores.g, index.constant(8 * r)));
    Value flat = index.add(index.mul(headNumber, rows.count), row);
    Value start = index.mul(index.rem(flat, queryCount), index.constant(shape.stateFloats()));
    auto store = [&](Value number, Value at) {
      memref::StoreOp::create(builder, loc, number, op.getPartials(),
                              ValueRange{index.div(flat, queryCount), part, index.add(start, at)});
    };
    Value sum = cores.acrossRow(state.sums[r], [&](Value a, Value b) -> Value {
      return arith::AddFOp::create(builder, loc, a, b);
    });
    choose(index, isBelow(row, rows.count), [&] {
      for (int64_t i = 0; i < static_cast<int64_t>(sums.size()) / 2; ++i) {
        int64_t tile = i / 2, c = i % 2;
        Value feature = index.add(first, index.constant(8 * tile + c));
        choose(index, isBelow(feature, index.constant(out.features)),
               [&] { store(sums[4 * tile + 2 * r + c], feature); });
      }
      choose(index, cores.isEqual(cores.t, 0), [&] {
        store(sum, index.constant(shape.sumFloats()));
        Value largest = arith::MulFOp::create(builder, loc, state.maxima[r],
                                              cores.number(softmax.exponentUnit() * ln2));
        store(largest, index.constant(shape.sumFloats() + 1));
      });
    });
  }
}
