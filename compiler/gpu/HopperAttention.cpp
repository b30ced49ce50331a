// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention in bf16 or f16 for Hopper (Shah et al. 2024, FlashAttention-3). A block stays on its
// multiprocessor and takes 128 rows of queries after another. One warp group, the producer, lets
// the copy engine bring queries, and keys and values tile by tile, to shared memory; two others
// have 64 rows each. In each of these, the scores of a tile are on their way together with the
// sums of the values before; weights are computed while the other's products run, in turns:
//
//   turn: scores[j] = queries keys[j] | sums += weights[j - 1] values[j - 1] | the other's turn
//   wait for scores -> hooks, weights[j] -> wait for sums -> rescale them
//
// Sums, weights and statistics are in registers; weights are the left operand from there. Under a
// mask, the producer looks for tiles that it leaves something of, and writes their numbers beside
// the stages of keys; behind the last, a stage has no keys but the number of tiles there are.
//
// A product with a weight of 0 is not 0 where the value is infinite, which a value behind the mask
// must not show: of tiles that a mask takes pairs out of, values are looked through, and where one
// is not finite, rows are computed again, query by query.
#include "compiler/cpu/ScoreFunction.h"
#include "compiler/gpu/AttentionFragments.h"
#include "compiler/gpu/HopperAttentionTile.h"
#include "compiler/gpu/Kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

namespace {

/// A stage of a ring and the parity of its use, carried from tile to tile.
struct RingPlace {
  Value stage, parity;

  SmallVector<Value> values() const { return {stage, parity}; }
  static RingPlace of(ValueRange values) { return {values[0], values[1]}; }
};

class HopperAttention {
public:
  HopperAttention(AttentionKernelOp op, const ScoreFunction &score, OpBuilder &builder,
                  ValueRange maps)
      : op(op), builder(builder), loc(op.getLoc()), tile(HopperAttentionTile::of(op)),
        hopper(builder, loc, halfOf(op)), cores(builder, loc, halfOf(op)), index(cores.index),
        score(score), fragments(op, score, cores, tile.keys, /*packsRows=*/false), maps(maps) {}

  void run(const TilingContext &context);

private:
  static constexpr int64_t placeValues = 5; ///< of keys, of values, parity of the queries

  struct State {
    FragmentSoftmax::State softmax;
    Value special;              ///< bits 15 and 31: the thread has seen an infinite value, or NaN
    SmallVector<Value> sums;    ///< fragments of [64 rows, value features]
    SmallVector<Value> weights; ///< words of [64 rows, keys], of the tile before

    SmallVector<Value> values() const {
      SmallVector<Value> all = softmax.values();
      all.push_back(special);
      llvm::append_range(all, sums);
      llvm::append_range(all, weights);
      return all;
    }
    static State of(ValueRange values, size_t sums) {
      return {FragmentSoftmax::State::of(values.take_front(4)), values[4],
              SmallVector<Value>(values.slice(5, sums)),
              SmallVector<Value>(values.drop_front(5 + sums))};
    }
  };
  struct Places {
    RingPlace keys, values;
    Value queries;

    SmallVector<Value> all() const {
      return {keys.stage, keys.parity, values.stage, values.parity, queries};
    }
    static Places of(ValueRange values) {
      return {RingPlace::of(values), RingPlace::of(values.drop_front(2)), values[4]};
    }
  };

  void forEachUnit(llvm::function_ref<void(Value, Places &)> body);
  void produce(Value isLeader);
  Value numberOf(Value stage);
  Value nextNumber(const Places &places);
  void leave(Places &places);
  void consume();
  void copyRows(Value memory, Value map, ArrayRef<unsigned> dims, Value row, int64_t rows,
                int64_t features, Value barrier);
  void advance(const StageRing &ring, RingPlace &place) {
    std::tie(place.stage, place.parity) = ring.next(hopper, place.stage, place.parity);
  }
  SmallVector<Value> scores(Value stage);
  void addValues(State &state, Value stage);
  void firstTile(Value number, Places &places, State &state);
  void nextTile(Value number, Value before, Places &places, State &state);
  void lastValues(Value number, Places &places, State &state);
  void lookThrough(Value number, Value stage, State &state);
  void finish(Value firstQuery, const State &state);
  State noKeys();
  SmallVector<Value> wordsOf(ArrayRef<Value> weights);
  SmallVector<Value> overAll(Places places);
  SmallVector<Value> overLive(Value first, Places places);
  SmallVector<Value> carry(const Places &places, const State &state);

  AttentionKernelOp op;
  OpBuilder &builder;
  Location loc;
  HopperAttentionTile tile;
  Hopper hopper;
  TensorCores cores;
  const IndexBuilder &index;
  ScoreFunction score;
  AttentionFragments fragments;
  ValueRange maps; ///< of queries, keys, values
  SmallVector<unsigned> mapDims[3];
  Value group, consumer, block, blocks;
  // Of a unit.
  SmallVector<Value> head, place; ///< indices of batch dims; of 32 bits
  Value firstRow;
};

} // namespace

//===-- units -------------------------------------------------------------------------------===//

// A head's last rows come first: under a causal mask they take longest. Neighbouring blocks have
// rows of the same head, which share keys.
void HopperAttention::forEachUnit(llvm::function_ref<void(Value, Places &)> body) {
  Value down = index.ceilDiv(fragments.rows.count, index.constant(HopperAttentionTile::rows)),
        heads = index.product(op.getOut(), 0, static_cast<int64_t>(op.getBatch()));
  Value units = hopper.fromIndex(index.mul(heads, down)), zero = hopper.constant(0);
  hopper.loop(
      block, units, blocks, {zero, zero, zero, zero, zero}, [&](Value number, ValueRange carried) {
        Value unit = hopper.toIndex(number);
        Value fromEnd = index.add(index.rem(unit, down), index.constant(1));
        firstRow = index.mul(index.sub(down, fromEnd), index.constant(HopperAttentionTile::rows));
        head = index.delinearize(index.div(unit, down), op.getOut(), 0,
                                 static_cast<int64_t>(op.getBatch()));
        place.clear();
        for (Value at : head)
          place.push_back(hopper.fromIndex(at));
        Places places = Places::of(carried);
        body(index.mul(index.div(unit, down), fragments.rows.count), places);
        places.queries = arith::XOrIOp::create(builder, loc, places.queries, hopper.constant(1));
        return places.all();
      });
}

//===-- the producer ------------------------------------------------------------------------===//

/// Rows [row, + rows) of the unit's head in boxes of 64 features, one behind the other.
void HopperAttention::copyRows(Value memory, Value map, ArrayRef<unsigned> dims, Value row,
                               int64_t rows, int64_t features, Value barrier) {
  for (int64_t i = 0; i < HopperAttentionTile::boxesOf(features); ++i) {
    SmallVector<Value> at{hopper.constant(i * swizzleElements), row};
    for (unsigned d : llvm::reverse(dims))
      at.push_back(place[d]);
    hopper.copyBox(hopper.add(memory, i * rows * swizzleBytes), map, at, barrier);
  }
}

/// Where the number of the tile in a stage of keys is.
Value HopperAttention::numberOf(Value stage) {
  return hopper.pointer(hopper.add(hopper.add(hopper.sharedBase, HopperAttentionTile::tileNumbers),
                                   hopper.mul(stage, 4)));
}

/// By a warp, whose leader does all but to look for tiles.
void HopperAttention::produce(Value isLeader) {
  auto other = [&](Value parity) -> Value { // at first, the phase before the first has ended
    return arith::XOrIOp::create(builder, loc, parity, hopper.constant(1));
  };
  auto fill = [&](const StageRing &ring, RingPlace &at,
                  llvm::function_ref<void(Value, Value)> copy) {
    hopper.when(isLeader, [&] {
      hopper.wait(ring.emptied(hopper, at.stage), other(at.parity));
      Value filled = ring.filled(hopper, at.stage);
      copy(ring.memory(hopper, at.stage), filled);
    });
    advance(ring, at);
  };
  auto fillTile = [&](Value number, Places &places) {
    Value key = hopper.mul(number, tile.keys);
    fill(tile.keyRing, places.keys, [&](Value memory, Value filled) {
      if (fragments.elements.isMasked())
        cores.store(number, numberOf(places.keys.stage), 4);
      hopper.expect(filled, tile.keyRing.bytes);
      copyRows(memory, maps[1], mapDims[1], key, tile.keys, tile.features, filled);
    });
    fill(tile.valueRing, places.values, [&](Value memory, Value filled) {
      hopper.expect(filled, tile.valueRing.bytes);
      copyRows(memory, maps[2], mapDims[2], key, tile.keys, tile.valueFeatures, filled);
    });
  };
  forEachUnit([&](Value, Places &places) {
    fragments.enter(head, firstRow, HopperAttentionTile::rows, index.constant(0));
    hopper.when(isLeader, [&] {
      Value filled = hopper.add(hopper.sharedBase, HopperAttentionTile::queryBarrier);
      hopper.wait(hopper.add(filled, 8), other(places.queries));
      hopper.expect(filled, HopperAttentionTile::bytesOf(HopperAttentionTile::rows, tile.features));
      copyRows(hopper.add(hopper.sharedBase, HopperAttentionTile::queryMemory), maps[0], mapDims[0],
               hopper.fromIndex(firstRow), HopperAttentionTile::rows, tile.features, filled);
    });
    Value count = fragments.tileCount;
    if (!fragments.elements.isMasked()) {
      places =
          Places::of(hopper.loop(hopper.constant(0), hopper.fromIndex(count), hopper.constant(1),
                                 places.all(), [&](Value number, ValueRange carried) {
                                   Places at = Places::of(carried);
                                   fillTile(number, at);
                                   return at.all();
                                 }));
      return;
    }
    SmallVector<Value> carried = places.all();
    carried.push_back(fragments.nextTile(index.constant(0)));
    auto walk = scf::WhileOp::create(
        builder, loc, TypeRange(ValueRange(carried)), carried,
        [&](OpBuilder &, Location, ValueRange values) {
          Value isSome =
              arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, values.back(), count);
          scf::ConditionOp::create(builder, loc, isSome, values);
        },
        [&](OpBuilder &, Location, ValueRange values) {
          Places at = Places::of(values);
          fillTile(hopper.fromIndex(values.back()), at);
          SmallVector<Value> next = at.all();
          next.push_back(fragments.nextTile(index.add(values.back(), index.constant(1))));
          scf::YieldOp::create(builder, loc, next);
        });
    places = Places::of(walk.getResults());
    fill(tile.keyRing, places.keys, [&](Value, Value filled) {
      cores.store(hopper.fromIndex(count), numberOf(places.keys.stage), 4);
      hopper.expect(filled, 0);
    });
  });
}

//===-- the consumers -----------------------------------------------------------------------===//

/// Issues the products of the group's queries and a tile of keys.
SmallVector<Value> HopperAttention::scores(Value stage) {
  Value own = hopper.mul(consumer, HopperAttentionTile::groupRows * swizzleBytes);
  Value queries = hopper.descriptor(
            hopper.add(hopper.add(hopper.sharedBase, HopperAttentionTile::queryMemory), own)),
        keys = hopper.descriptor(tile.keyRing.memory(hopper, stage));
  SmallVector<Value> sums(tile.keys / 2);
  for (int64_t e = 0; e < tile.features; e += 16) {
    int64_t box = e / swizzleElements, along = e % swizzleElements * 2;
    hopper.multiply(sums,
                    hopper.advance(queries, box * HopperAttentionTile::rows * swizzleBytes + along),
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

void HopperAttention::firstTile(Value number, Places &places, State &state) {
  hopper.wait(tile.keyRing.filled(hopper, places.keys.stage), places.keys.parity);
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
  hopper.wait(tile.keyRing.filled(hopper, places.keys.stage), places.keys.parity);
  // The groups' turns: barriers 1 and 2.
  constexpr int64_t both = HopperAttentionTile::consumers * warpGroupThreads;
  hopper.syncNamed(hopper.add(consumer, 1), both);
  hopper.pin(state.sums);
  hopper.pin(state.weights);
  hopper.fenceProducts();
  SmallVector<Value> weights = scores(places.keys.stage);
  hopper.wait(tile.valueRing.filled(hopper, places.values.stage), places.values.parity);
  hopper.fenceProducts(); // of sums and weights, another group's registers
  addValues(state, places.values.stage);
  Value other = arith::SubIOp::create(builder, loc, hopper.constant(2), consumer);
  hopper.arriveNamed(other, both);
  hopper.waitForProducts(1);
  hopper.pin(weights);
  hopper.arriveByWarp(tile.keyRing.emptied(hopper, places.keys.stage));
  fragments.applyHooks(weights, number);
  std::array<Value, 2> factors = fragments.softmax.weigh(weights, state.softmax);
  hopper.pin(weights);
  lookThrough(before, places.values.stage, state);
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

void HopperAttention::lastValues(Value number, Places &places, State &state) {
  hopper.wait(tile.valueRing.filled(hopper, places.values.stage), places.values.parity);
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
  firstTile(index.constant(0), places, state);
  size_t sums = state.sums.size();
  if (!fragments.hasOneTile()) {
    // A loop that runs once would be none, and take more registers than there are.
    SmallVector<Value> end{hopper.fromIndex(fragments.tileCount)};
    hopper.pin(end);
    auto results = hopper.loop(hopper.constant(1), end[0], hopper.constant(1), carry(places, state),
                               [&](Value number, ValueRange carried) {
                                 Places at = Places::of(carried);
                                 State next = State::of(carried.drop_front(placeValues), sums);
                                 nextTile(hopper.toIndex(number), {}, at, next);
                                 return carry(at, next);
                               });
    places = Places::of(results);
    state = State::of(ArrayRef(results).drop_front(placeValues), sums);
  }
  lastValues({}, places, state);
  state.weights.clear();
  return carry(places, state);
}

/// The number of the next tile, when its keys are there, as an index.
Value HopperAttention::nextNumber(const Places &places) {
  hopper.wait(tile.keyRing.filled(hopper, places.keys.stage), places.keys.parity);
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
  lastValues(first, places, state);
  state.weights.clear();
  return carry(places, state);
}

/// Stores the warp's rows, whose head begins with query `firstQuery`.
void HopperAttention::finish(Value firstQuery, const State &state) {
  if (!fragments.elements.isMasked())
    return fragments.store(state.sums, state.softmax);
  // One warp's finding is all warps'.
  Value own = hopper.rem(hopper.thread, warpGroupThreads), zero = hopper.constant(0),
        id = hopper.add(consumer, 3);
  Value flags = hopper.add(hopper.add(hopper.sharedBase, HopperAttentionTile::specialFlags),
                           hopper.mul(consumer, 16));
  auto isNot = [&](Value word) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, word, zero);
  };
  Value isSpecial = cores.any(isNot(cores.bits(state.special, cores.specialBits)));
  hopper.when(hopper.equals(hopper.rem(own, 32), 0), [&] {
    Value flag = hopper.add(flags, hopper.mul(hopper.div(own, 32), 4));
    cores.store(hopper.select(isSpecial, hopper.constant(1), zero), hopper.pointer(flag), 4);
  });
  hopper.syncNamed(id, warpGroupThreads);
  Value found = zero;
  for (int64_t warp = 0; warp < 4; ++warp) {
    Value flag = hopper.pointer(hopper.add(flags, 4 * warp));
    found = arith::OrIOp::create(builder, loc, found, cores.load(flag, zero.getType(), 4));
  }
  hopper.syncNamed(id, warpGroupThreads);
  auto again = [&] {
    Value end = index.min(index.add(fragments.warpStart, index.constant(16)), fragments.rows.count);
    forLoop(index, fragments.warpStart, end, 1,
            [&](Value row) { emitQueryOfWarp(op, score, builder, index.add(firstQuery, row)); });
  };
  hopper.when(isNot(found), again, [&] { fragments.store(state.sums, state.softmax); });
}

void HopperAttention::consume() {
  constexpr int64_t both = HopperAttentionTile::consumers * warpGroupThreads;
  Value isSecond = hopper.equals(consumer, 1);
  if (!fragments.hasOneTile()) // the first group's first turn
    hopper.when(isSecond, [&] { hopper.arriveNamed(hopper.constant(1), both); });
  Value own = hopper.rem(hopper.thread, warpGroupThreads), warp = hopper.div(own, 32);
  Value offset = hopper.toIndex(
      hopper.add(hopper.mul(consumer, HopperAttentionTile::groupRows), hopper.mul(warp, 16)));
  forEachUnit([&](Value firstQuery, Places &places) {
    fragments.enter(head, firstRow, HopperAttentionTile::rows, offset);
    Value filled = hopper.add(hopper.sharedBase, HopperAttentionTile::queryBarrier);
    hopper.wait(filled, places.queries);
    SmallVector<Value> results;
    if (!fragments.elements.isMasked()) {
      results = overAll(places);
    } else {
      Value first = nextNumber(places);
      Value isSome = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, first,
                                           fragments.tileCount);
      auto some = scf::IfOp::create(
          builder, loc, isSome,
          [&](OpBuilder &, Location) {
            scf::YieldOp::create(builder, loc, overLive(first, places));
          },
          [&](OpBuilder &, Location) {
            leave(places);
            scf::YieldOp::create(builder, loc, carry(places, noKeys()));
          });
      results = SmallVector<Value>(some.getResults());
    }
    places = Places::of(results);
    hopper.arriveByWarp(hopper.add(filled, 8));
    State state = State::of(ArrayRef(results).drop_front(placeValues), tile.valueFeatures / 2);
    finish(firstQuery, state);
    hopper.syncWarp(); // some lanes have had no row
  });
  if (!fragments.hasOneTile()) // the turn that the second group has passed on last
    hopper.when(hopper.equals(consumer, 0), [&] { hopper.syncNamed(hopper.constant(1), both); });
}

void HopperAttention::run(const TilingContext &context) {
  block = hopper.fromIndex(context.thread), blocks = hopper.fromIndex(context.threads);
  mapDims[0] = mapDimsOf(op, op.getQuery()), mapDims[1] = mapDimsOf(op, op.getKey());
  mapDims[2] = mapDimsOf(op, op.getValue());
  group = hopper.uniform(hopper.div(hopper.thread, warpGroupThreads));
  consumer = hopper.add(group, -1);
  hopper.when(hopper.equals(hopper.thread, 0), [&] {
    constexpr int64_t warps = HopperAttentionTile::consumers * warpGroupThreads / 32;
    Value queries = hopper.add(hopper.sharedBase, HopperAttentionTile::queryBarrier);
    hopper.initBarrier(queries, 1);
    hopper.initBarrier(hopper.add(queries, 8), warps);
    tile.keyRing.init(hopper, warps);
    tile.valueRing.init(hopper, warps);
    hopper.publishBarriers();
  });
  gpu::BarrierOp::create(builder, loc);
  // Of the 168 registers that each of 384 threads has, the producer gives most away; to judge
  // tiles, it keeps some.
  int64_t kept = fragments.elements.isMasked() ? 40 : 24;
  hopper.when(
      hopper.equals(group, 0),
      [&] {
        hopper.setRegisters(kept, /*increase=*/false);
        Value isFirstWarp = hopper.below(hopper.thread, hopper.constant(32));
        hopper.when(isFirstWarp, [&] { produce(hopper.elect()); });
      },
      [&] {
        hopper.setRegisters(252 - kept / 2, /*increase=*/true);
        consume();
      });
}

void attn::emitHopperAttention(AttentionKernelOp op, const ScoreFunction &score,
                               const TilingContext &context, ValueRange maps) {
  OpBuilder builder(op);
  HopperAttention(op, score, builder, maps).run(context);
}
