// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hopper's attention (HopperAttention.cpp), the consumers: of each unit the queries, all tiles, and
// the output or what a part of the keys adds to it.
#include "compiler/gpu/attention/HopperAttention.h"
#include "compiler/kernels/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

/// By 8 threads a row, 16 bytes each, to where boxes would have them: the pattern of 128 bytes has
/// chunk c of row r at c ^ r % 8. Rows behind the last are as that one.
void HopperAttention::loadQueries() {
  constexpr int64_t rowThreads = 8, chunkBytes = 16, step = warpGroupThreads / rowThreads;
  static_assert(rowThreads * chunkBytes == swizzleBytes);
  hopper.syncNamed(ownBarrier(), warpGroupThreads); // the unit before is multiplied
  GlobalRows queries(cores, op.getQuery());
  Value own = hopper.rem(hopper.thread, warpGroupThreads), down = hopper.div(own, rowThreads),
        chunk = hopper.rem(own, rowThreads);
  Value swizzled =
      arith::XOrIOp::create(builder, loc, chunk, hopper.rem(down, swizzleRows)).getResult();
  Value to = hopper.add(
      hopper.add(hopper.sharedBase, HopperAttentionTile::queryMemory),
      hopper.add(hopper.mul(hopper.add(hopper.mul(consumer, HopperAttentionTile::groupRows), down),
                            swizzleBytes),
                 hopper.mul(swizzled, chunkBytes)));
  Value first = index.add(
            firstRow,
            hopper.toIndex(hopper.add(hopper.mul(consumer, HopperAttentionTile::groupRows), down))),
        last = index.sub(fragments.rows.count, index.constant(1));
  auto words = VectorType::get({4}, builder.getI32Type());
  Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(words));
  for (int64_t row = 0; row < HopperAttentionTile::groupRows; row += step) {
    Value at = index.min(index.add(first, index.constant(row)), last);
    Value from = queries.row(fragments.rows.positionsOf(head, at));
    for (int64_t box = 0; box < HopperAttentionTile::boxesOf(tile.features); ++box) {
      int64_t chunks = std::min((tile.features - box * swizzleElements) / 8, rowThreads);
      // The last box has zeros behind the features, which are multiplied.
      Value isThere = hopper.below(chunk, hopper.constant(chunks)),
            inRow = hopper.select(isThere, chunk, hopper.constant(0));
      Value bytes = hopper.toIndex(hopper.add(hopper.mul(inRow, chunkBytes), box * swizzleBytes));
      Value loaded = cores.load(cores.at(from, bytes), words, chunkBytes);
      if (chunks < rowThreads)
        loaded = hopper.select(isThere, loaded, zeros);
      cores.store(loaded, hopper.pointer(hopper.add(to, (box * tile.rows() + row) * swizzleBytes)),
                  chunkBytes);
    }
  }
  hopper.fenceStores();
  hopper.syncNamed(ownBarrier(), warpGroupThreads);
}

/// Places and state, but for weights, after the unit's tiles.
SmallVector<Value> HopperAttention::overTiles(Places places) {
  bool isMasked = fragments.elements.isMasked();
  if (!isMasked && !op.getPartials())
    return overAll(places);
  Value first = isMasked ? nextNumber(places) : startTile,
        end = isMasked ? fragments.tileCount : endTile;
  auto some = scf::IfOp::create(
      builder, loc, isBelow(first, end),
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, isMasked ? overLive(first, places) : overAll(places));
      },
      [&](OpBuilder &, Location) {
        Places at = places;
        if (isMasked)
          leave(at);
        releaseQueries();
        scf::YieldOp::create(builder, loc, carry(at, noKeys()));
      });
  return SmallVector<Value>(some.getResults());
}

void HopperAttention::store(const State &state) {
  if (op.getPartials())
    fragments.storePart(state.sums, state.softmax, headNumber, part);
  else
    fragments.store(state.sums, state.softmax);
}

/// The warp's rows, on FMA units.
void HopperAttention::computeAgain() {
  Value firstQuery = index.mul(headNumber, fragments.rows.count),
        end = index.min(index.add(fragments.warpStart, index.constant(16)), fragments.rows.count);
  std::optional<PartOfKeys> keys;
  if (op.getPartials())
    keys = PartOfKeys{part, fragments.firstKeyOf(startTile),
                      index.min(fragments.firstKeyOf(endTile), fragments.rows.keyCount)};
  forLoop(index, fragments.warpStart, end, 1, [&](Value row) {
    emitQueryOfWarp(op, score, builder, index.add(firstQuery, row), keys);
  });
}

void HopperAttention::finish(const State &state) {
  if (!fragments.elements.isMasked())
    return store(state);
  // One warp's finding is all warps'.
  Value own = hopper.rem(hopper.thread, warpGroupThreads), zero = hopper.constant(0),
        id = ownBarrier();
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
  hopper.when(isNot(found), [&] { computeAgain(); }, [&] { store(state); });
}

void HopperAttention::consume() {
  bool takesTurns = tile.consumers > 1 && !fragments.hasOneTile();
  if (takesTurns) // the first group's first turn
    hopper.when(hopper.equals(consumer, tile.consumers - 1), [&] { passTurn(); });
  Value own = hopper.rem(hopper.thread, warpGroupThreads), warp = hopper.div(own, 32);
  Value offset = hopper.toIndex(
      hopper.add(hopper.mul(consumer, HopperAttentionTile::groupRows), hopper.mul(warp, 16)));
  Value filled = hopper.add(hopper.sharedBase, HopperAttentionTile::queryBarrier);
  forEachUnit([&](Places &places) {
    fragments.enter(head, firstRow, tile.rows(), offset);
    if (tile.packsRows)
      loadQueries();
    else
      hopper.wait(filled, places.queries, "queries");
    SmallVector<Value> results = overTiles(places);
    places = Places::of(results);
    finish(State::of(ArrayRef(results).drop_front(placeValues), tile.valueFeatures / 2));
    hopper.syncWarp(); // some lanes have had no row
  });
  if (takesTurns) // the turn that the last group has passed on last
    hopper.when(hopper.equals(consumer, 0), [&] { awaitTurn(); });
}
