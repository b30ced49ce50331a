// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hopper's attention (HopperAttention.cpp), a consumer's tiles: the products and weights of 64 rows
// in the registers of a warp group.
#include "compiler/gpu/attention/HopperAttention.h"
#include "compiler/kernels/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

/// Issues the products of the group's queries and a tile of keys.
SmallVector<Value> HopperAttention::scores(Value stage) {
  Value own = hopper.mul(consumer, HopperAttentionTile::groupRows * swizzleBytes);
  Value queries = hopper.descriptor(
            hopper.add(hopper.add(hopper.sharedBase, HopperAttentionTile::queryMemory), own)),
        keys = hopper.descriptor(tile.keyRing.memory(hopper, stage));
  SmallVector<Value> sums(tile.keys / 2);
  for (int64_t e = 0; e < tile.features; e += 16) {
    int64_t box = e / swizzleElements, along = e % swizzleElements * 2;
    hopper.multiply(sums, hopper.advance(queries, box * tile.rows() * swizzleBytes + along),
                    hopper.advance(keys, box * tile.keys * swizzleBytes + along), e == 0);
  }
  hopper.commitProducts();
  return sums;
}

/// Issues those of weights and values.
void HopperAttention::addValues(State &state, Value stage) {
  Value values = hopper.descriptor(tile.valueRing.memory(hopper, stage), tile.keys * swizzleBytes);
  for (int64_t key = 0; key < tile.keys; key += 16)
    hopper.multiplyWords(state.sums, ArrayRef(state.weights).slice(key / 4, 4),
                         hopper.advance(values, key * swizzleBytes));
  hopper.commitProducts();
}

SmallVector<Value> HopperAttention::wordsOf(ArrayRef<Value> weights) {
  SmallVector<Value> words;
  for (const SmallVector<Value> &step : cores.wordsOf(weights))
    llvm::append_range(words, step);
  return words;
}

// The groups' turns at the tensor cores: barrier 1 + consumer is of a group and the one before it.
void HopperAttention::awaitTurn() {
  hopper.syncNamed(hopper.add(consumer, 1), 2 * warpGroupThreads);
}

void HopperAttention::passTurn() {
  Value next = hopper.add(consumer, 1);
  next = hopper.select(hopper.equals(next, tile.consumers), hopper.constant(0), next);
  hopper.arriveNamed(hopper.add(next, 1), 2 * warpGroupThreads);
}

void HopperAttention::firstTile(Value number, Places &places, State &state) {
  hopper.wait(tile.keyRing.filled(hopper, places.keys.stage), places.keys.parity, "keys");
  hopper.fenceProducts();
  SmallVector<Value> weights = scores(places.keys.stage);
  hopper.waitForProducts(0);
  hopper.pin(weights);
  hopper.arriveByWarp(tile.keyRing.emptied(hopper, places.keys.stage));
  advance(tile.keyRing, places.keys);
  fragments.applyHooks(weights, number);
  fragments.softmax.weigh(weights, state.softmax);
  state.weights = wordsOf(weights);
}

void HopperAttention::nextTile(Value number, Value before, Places &places, State &state) {
  hopper.wait(tile.keyRing.filled(hopper, places.keys.stage), places.keys.parity, "keys");
  if (tile.consumers > 1)
    awaitTurn();
  hopper.pin(state.sums);
  hopper.pin(state.weights);
  hopper.fenceProducts();
  SmallVector<Value> weights = scores(places.keys.stage);
  hopper.wait(tile.valueRing.filled(hopper, places.values.stage), places.values.parity, "values");
  hopper.fenceProducts(); // of sums and weights, another group's registers
  addValues(state, places.values.stage);
  if (tile.consumers > 1)
    passTurn();
  hopper.waitForProducts(1);
  hopper.pin(weights);
  hopper.arriveByWarp(tile.keyRing.emptied(hopper, places.keys.stage));
  fragments.applyHooks(weights, number);
  std::array<Value, 2> factors = fragments.softmax.weigh(weights, state.softmax);
  hopper.pin(weights);
  lookThrough(before, places.values.stage, state);
  // Done already. It keeps ptxas from moving the wait below in front of the exponentials above,
  // which are to be computed while the products run; a mask's branches do so without it.
  if (!fragments.elements.isMasked())
    hopper.wait(tile.valueRing.filled(hopper, places.values.stage), places.values.parity, "values");
  hopper.waitForProducts(0);
  hopper.pin(state.sums);
  hopper.arriveByWarp(tile.valueRing.emptied(hopper, places.values.stage));
  advance(tile.keyRing, places.keys);
  advance(tile.valueRing, places.values);
  state.weights = wordsOf(weights);
  for (auto [i, sum] : llvm::enumerate(state.sums))
    sum = arith::MulFOp::create(builder, loc, sum,
                                factors[FragmentPlace::of(static_cast<int64_t>(i)).row]);
}

/// Marks values of a tile that are not finite, where the mask takes pairs out of it.
void HopperAttention::lookThrough(Value number, Value stage, State &state) {
  if (!fragments.elements.isMasked())
    return;
  auto look = [&] {
    Value found = state.special, own = hopper.rem(hopper.thread, warpGroupThreads);
    Value first = hopper.add(tile.valueRing.memory(hopper, stage), hopper.mul(own, 16));
    auto words = VectorType::get({4}, builder.getI32Type());
    for (int64_t at = 0; at < tile.valueRing.bytes; at += 16 * warpGroupThreads) {
      Value chunk = cores.load(hopper.pointer(hopper.add(first, at)), words, 16);
      for (int64_t i = 0; i < 4; ++i) {
        Value word = LLVM::ExtractElementOp::create(builder, loc, chunk, cores.integer(i));
        found = arith::OrIOp::create(builder, loc, found, cores.specials(word));
      }
    }
    return found;
  };
  Value isPartial = fragments.isPartial(number);
  if (auto known = constantIndex(isPartial)) {
    state.special = *known != 0 ? look() : state.special;
    return;
  }
  auto looked = scf::IfOp::create(
      builder, loc, isPartial,
      [&](OpBuilder &, Location) { scf::YieldOp::create(builder, loc, look()); },
      [&](OpBuilder &, Location) { scf::YieldOp::create(builder, loc, state.special); });
  state.special = looked.getResult(0);
}

/// The last scores are computed: the producer may bring the next unit's queries, while the last
/// sums are.
void HopperAttention::releaseQueries() {
  if (!tile.packsRows)
    hopper.arriveByWarp(hopper.add(hopper.sharedBase, HopperAttentionTile::queryBarrier + 8));
}

void HopperAttention::lastValues(Value number, Places &places, State &state) {
  hopper.wait(tile.valueRing.filled(hopper, places.values.stage), places.values.parity, "values");
  hopper.pin(state.sums);
  hopper.pin(state.weights);
  hopper.fenceProducts();
  addValues(state, places.values.stage);
  lookThrough(number, places.values.stage, state);
  hopper.waitForProducts(0);
  hopper.pin(state.sums);
  hopper.arriveByWarp(tile.valueRing.emptied(hopper, places.values.stage));
  advance(tile.valueRing, places.values);
}

HopperAttention::State HopperAttention::noKeys() {
  State state;
  state.softmax = fragments.initial();
  state.special = cores.integer(0);
  state.sums.assign(tile.valueFeatures / 2, cores.number(0));
  return state;
}

SmallVector<Value> HopperAttention::carry(const Places &places, const State &state) {
  SmallVector<Value> carried = places.all();
  llvm::append_range(carried, state.values());
  return carried;
}

/// Places and state, but for weights, after all tiles of keys.
SmallVector<Value> HopperAttention::overAll(Places places) {
  State state = noKeys();
  firstTile(startTile, places, state);
  size_t sums = state.sums.size();
  if (!fragments.hasOneTile()) {
    // A loop that runs once would be none, and take more registers than there are.
    SmallVector<Value> end{hopper.fromIndex(endTile)};
    hopper.pin(end);
    Value second = hopper.fromIndex(index.add(startTile, index.constant(1)));
    auto results = hopper.loop(second, end[0], hopper.constant(1), carry(places, state),
                               [&](Value number, ValueRange carried) {
                                 Places at = Places::of(carried);
                                 State next = State::of(carried.drop_front(placeValues), sums);
                                 nextTile(hopper.toIndex(number), {}, at, next);
                                 return carry(at, next);
                               });
    places = Places::of(results);
    state = State::of(ArrayRef(results).drop_front(placeValues), sums);
  }
  releaseQueries();
  lastValues({}, places, state);
  state.weights.clear();
  return carry(places, state);
}

/// The number of the next tile, when its keys are there, as an index.
Value HopperAttention::nextNumber(const Places &places) {
  hopper.wait(tile.keyRing.filled(hopper, places.keys.stage), places.keys.parity, "keys");
  return hopper.toIndex(cores.load(numberOf(places.keys.stage), builder.getI32Type(), 4));
}

/// Gives the stage back that says that there are no more tiles.
void HopperAttention::leave(Places &places) {
  hopper.arriveByWarp(tile.keyRing.emptied(hopper, places.keys.stage));
  advance(tile.keyRing, places.keys);
}

/// The same after the tiles that the producer gives numbers of, of which `first` is one.
SmallVector<Value> HopperAttention::overLive(Value first, Places places) {
  State state = noKeys();
  firstTile(first, places, state);
  size_t sums = state.sums.size();
  if (fragments.hasOneTile()) {
    nextNumber(places);
  } else {
    SmallVector<Value> carried{first};
    llvm::append_range(carried, carry(places, state));
    SmallVector<Type> types(TypeRange{ValueRange(carried)});
    types.push_back(builder.getIndexType());
    auto loop = scf::WhileOp::create(
        builder, loc, types, carried,
        [&](OpBuilder &, Location, ValueRange values) {
          Value number = nextNumber(Places::of(values.drop_front()));
          Value isSome = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                                               fragments.tileCount);
          SmallVector<Value> all(values);
          all.push_back(number);
          scf::ConditionOp::create(builder, loc, isSome, all);
        },
        [&](OpBuilder &, Location, ValueRange values) {
          Places at = Places::of(values.drop_front());
          State next = State::of(values.drop_front(1 + placeValues).drop_back(), sums);
          nextTile(values.back(), values.front(), at, next);
          SmallVector<Value> all{values.back()};
          llvm::append_range(all, carry(at, next));
          scf::YieldOp::create(builder, loc, all);
        });
    ValueRange results = ValueRange(loop.getResults()).drop_back();
    first = results.front();
    places = Places::of(results.drop_front());
    state = State::of(results.drop_front(1 + placeValues), sums);
  }
  leave(places);
  releaseQueries();
  lastValues(first, places, state);
  state.weights.clear();
  return carry(places, state);
}
