// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of Hopper's kernel of attention (HopperAttention.cpp), which a block's producer and its
// consumers have their parts of.
#pragma once

#include "compiler/gpu/attention/Attention.h"
#include "compiler/gpu/attention/AttentionFragments.h"
#include "compiler/gpu/attention/HopperAttentionTile.h"
#include "compiler/gpu/threads/UnitOrder.h"

namespace attn {

/// A stage of a ring and the parity of its use, carried from tile to tile.
struct RingPlace {
  using Value = mlir::Value;

  Value stage, parity;

  /// The place as a loop carries it, and back.
  llvm::SmallVector<Value> values() const { return {stage, parity}; }
  static RingPlace of(mlir::ValueRange values) { return {values[0], values[1]}; }
};

/// Writes the kernel of one attention. It is used once.
class HopperAttention {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  /// At the beginning of a kernel's function. `maps`: of keys, values, and queries where the copy
  /// engine brings them.
  HopperAttention(AttentionKernelOp op, const ScoreFunction &score, mlir::OpBuilder &builder,
                  mlir::ValueRange maps);

  /// Writes the code of all roles.
  void run(const TilingContext &context);

private:
  static constexpr int64_t placeValues = 5; ///< of keys, of values, parity of the queries

  /// What a consumer carries from tile to tile.
  struct State {
    FragmentSoftmax::State softmax;
    Value special;  ///< bits 15 and 31: the thread has seen an infinite value, or NaN
    Values sums;    ///< fragments of [64 rows, value features]
    Values weights; ///< words of [64 rows, keys], of the tile before

    /// The state as a loop carries it, and back.
    Values values() const {
      Values all = softmax.values();
      all.push_back(special);
      llvm::append_range(all, sums);
      llvm::append_range(all, weights);
      return all;
    }
    static State of(mlir::ValueRange values, size_t sums) {
      return {FragmentSoftmax::State::of(values.take_front(4)), values[4],
              Values(values.slice(5, sums)), Values(values.drop_front(5 + sums))};
    }
  };
  /// Where the rings of keys and values stand, and the parity of the queries.
  struct Places {
    RingPlace keys, values;
    Value queries;

    /// The places as a loop carries them, and back.
    Values all() const { return {keys.stage, keys.parity, values.stage, values.parity, queries}; }
    static Places of(mlir::ValueRange values) {
      return {RingPlace::of(values), RingPlace::of(values.drop_front(2)), values[4]};
    }
  };

  /// Whether units take different times, so that they are dealt out (UnitOrder.h).
  bool isBalanced();
  /// The order of units that have `down` rows of tiles for each head; `down` is an index.
  UnitOrder order(Value down);
  /// body(places) for each unit of the block, which has been entered.
  void forEachUnit(llvm::function_ref<void(Places &)> body);
  void enterUnit(Value number);
  /// Where the number of the tile in a stage of keys is.
  Value numberOf(Value stage);
  void advance(const StageRing &ring, RingPlace &place) {
    std::tie(place.stage, place.parity) = ring.next(hopper, place.stage, place.parity);
  }
  Value isBelow(Value a, Value b);

  // The producer, a warp, whose leader does all but to look for tiles.
  /// The code of the producer.
  void produce(Value isLeader);
  /// Copies rows [row, + rows) of the unit's head in boxes of 64 features, one behind the other.
  void copyRows(Value memory, Value map, llvm::ArrayRef<unsigned> dims, Value row, int64_t rows,
                int64_t features, Value barrier);
  /// Waits until a stage is free, has it filled by `copy`, and goes on to the next.
  void fill(const StageRing &ring, RingPlace &at, Value isLeader,
            llvm::function_ref<void(Value memory, Value filled)> copy);
  /// Fills a stage of keys and one of values with tile number `number`.
  void fillTile(Value number, Places &places, Value isLeader);
  /// Has the copy engine bring the unit's queries, once those of the unit before are read.
  void bringQueries(Value parity, Value isLeader);
  /// Fills stages with all tiles of a unit, or with those that the mask leaves something of and a
  /// stage that ends them.
  Places fillAll(const Places &places, Value isLeader);
  Places fillLive(const Places &places, Value isLeader);

  // Consumers.
  /// The code of a consumer.
  void consume();
  /// Has the threads load the rows of queries that share keys.
  void loadQueries();
  /// Waits for the group's turn at the tensor cores, and gives the turn to the next group.
  void awaitTurn();
  void passTurn();
  /// The barrier of the group's threads alone, behind those of the turns.
  Value ownBarrier() { return hopper.add(consumer, 1 + tile.consumers); }
  Values scores(Value stage);
  void addValues(State &state, Value stage);
  void firstTile(Value number, Places &places, State &state);
  void nextTile(Value number, Value before, Places &places, State &state);
  void releaseQueries();
  void lastValues(Value number, Places &places, State &state);
  void lookThrough(Value number, Value stage, State &state);
  State noKeys();
  Values wordsOf(llvm::ArrayRef<Value> weights);
  Values overTiles(Places places);
  Values overAll(Places places);
  Values overLive(Value first, Places places);
  Value nextNumber(const Places &places);
  void leave(Places &places);
  Values carry(const Places &places, const State &state);
  void finish(const State &state);
  void store(const State &state);
  void computeAgain();

  AttentionKernelOp op;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  HopperAttentionTile tile;
  Hopper hopper;
  TensorCores cores;
  const IndexBuilder &index;
  ScoreFunction score;
  AttentionFragments fragments;
  mlir::ValueRange maps;
  llvm::SmallVector<unsigned> mapDims[3]; ///< of keys, values, queries
  Value group, consumer, block, blocks;
  // Of a unit: 64 rows for each consumer of a head, and all of its keys or a part of them.
  Values head, place; ///< indices of batch dims; of 32 bits
  Value headNumber, firstRow, part, startTile, endTile;
};

} // namespace attn
