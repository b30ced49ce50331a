// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The producer of Hopper's attention (HopperAttention.cpp): tile after tile of keys and values to
// the stages that consumers gave back.
#include "compiler/gpu/attention/HopperAttention.h"
#include "compiler/kernels/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

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

/// The other parity: at first, the phase before the first has ended.
static Value before(const Hopper &hopper, Value parity) {
  return arith::XOrIOp::create(hopper.builder, hopper.loc, parity, hopper.constant(1));
}

void HopperAttention::fill(const StageRing &ring, RingPlace &at, Value isLeader,
                           llvm::function_ref<void(Value, Value)> copy) {
  hopper.when(isLeader, [&] {
    hopper.wait(ring.emptied(hopper, at.stage), before(hopper, at.parity),
                &ring == &tile.keyRing ? "free keys" : "free values");
    copy(ring.memory(hopper, at.stage), ring.filled(hopper, at.stage));
  });
  advance(ring, at);
}

void HopperAttention::fillTile(Value number, Places &places, Value isLeader) {
  Value key = hopper.mul(number, tile.keys);
  fill(tile.keyRing, places.keys, isLeader, [&](Value memory, Value filled) {
    if (fragments.elements.isMasked())
      cores.store(number, numberOf(places.keys.stage), 4);
    hopper.expect(filled, tile.keyRing.bytes);
    copyRows(memory, maps[0], mapDims[0], key, tile.keys, tile.features, filled);
  });
  fill(tile.valueRing, places.values, isLeader, [&](Value memory, Value filled) {
    hopper.expect(filled, tile.valueRing.bytes);
    copyRows(memory, maps[1], mapDims[1], key, tile.keys, tile.valueFeatures, filled);
  });
}

void HopperAttention::bringQueries(Value parity, Value isLeader) {
  hopper.when(isLeader, [&] {
    Value filled = hopper.add(hopper.sharedBase, HopperAttentionTile::queryBarrier);
    hopper.wait(hopper.add(filled, 8), before(hopper, parity), "free queries");
    hopper.expect(filled, HopperAttentionTile::bytesOf(tile.rows(), tile.features));
    copyRows(hopper.add(hopper.sharedBase, HopperAttentionTile::queryMemory), maps[2], mapDims[2],
             hopper.fromIndex(firstRow), tile.rows(), tile.features, filled);
  });
}

HopperAttention::Places HopperAttention::fillAll(const Places &places, Value isLeader) {
  return Places::of(hopper.loop(hopper.fromIndex(startTile), hopper.fromIndex(endTile),
                                hopper.constant(1), places.all(),
                                [&](Value number, ValueRange carried) {
                                  Places at = Places::of(carried);
                                  fillTile(number, at, isLeader);
                                  return at.all();
                                }));
}

/// The tiles that the mask leaves something of, and a stage that ends them.
HopperAttention::Places HopperAttention::fillLive(const Places &places, Value isLeader) {
  SmallVector<Value> carried = places.all();
  carried.push_back(fragments.nextTile(startTile));
  auto walk = scf::WhileOp::create(
      builder, loc, TypeRange(ValueRange(carried)), carried,
      [&](OpBuilder &, Location, ValueRange values) {
        scf::ConditionOp::create(builder, loc, isBelow(values.back(), endTile), values);
      },
      [&](OpBuilder &, Location, ValueRange values) {
        Places at = Places::of(values);
        fillTile(hopper.fromIndex(values.back()), at, isLeader);
        SmallVector<Value> next = at.all();
        next.push_back(fragments.nextTile(index.add(values.back(), index.constant(1))));
        scf::YieldOp::create(builder, loc, next);
      });
  Places end = Places::of(walk.getResults());
  fill(tile.keyRing, end.keys, isLeader, [&](Value, Value filled) {
    cores.store(hopper.fromIndex(fragments.tileCount), numberOf(end.keys.stage), 4);
    hopper.expect(filled, 0);
  });
  return end;
}

void HopperAttention::produce(Value isLeader) {
  forEachUnit([&](Places &places) {
    fragments.enter(head, firstRow, tile.rows(), index.constant(0));
    if (!tile.packsRows)
      bringQueries(places.queries, isLeader);
    places = fragments.elements.isMasked() ? fillLive(places, isLeader) : fillAll(places, isLeader);
  });
}
