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
//
// Of a few queries, as for decoding, rows are those of all heads that share a key head; up to 64
// need one such group. Its time is that of bringing keys and values, so that all of shared memory
// is stages of them. Keys may be in parts, each a unit of its own, which WarpCombine.cpp adds up.
#include "compiler/gpu/attention/HopperAttention.h"
#include "compiler/kernels/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace attn;

HopperAttention::HopperAttention(AttentionKernelOp op, const ScoreFunction &score,
                                 OpBuilder &builder, ValueRange maps)
    : op(op), builder(builder), loc(op.getLoc()), tile(HopperAttentionTile::of(op)),
      hopper(builder, loc, halfOf(op)), cores(builder, loc, halfOf(op)), index(cores.index),
      score(score), fragments(op, score, cores, tile.keys, tile.packsRows), maps(maps),
      mapDims{mapDimsOf(op, op.getKey()), mapDimsOf(op, op.getValue()),
              mapDimsOf(op, op.getQuery())} {}

Value HopperAttention::isBelow(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, a, b);
}

Value HopperAttention::numberOf(Value stage) {
  return hopper.pointer(hopper.add(hopper.add(hopper.sharedBase, HopperAttentionTile::tileNumbers),
                                   hopper.mul(stage, 4)));
}

/// Under a mask, rows take different times. Parts of keys, and a few queries, are all alike, and
/// neighbouring blocks then have what shares keys.
bool HopperAttention::isBalanced() {
  return fragments.elements.isMasked() && !op.getPartials() && !tile.packsRows;
}

UnitOrder HopperAttention::order(Value down) {
  return UnitOrder(hopper, hopper.fromIndex(fragments.rows.heads), hopper.fromIndex(down),
                   hopper.fromIndex(fragments.rows.keyCount),
                   2 * (tile.features + tile.valueFeatures));
}

void HopperAttention::enterUnit(Value number) {
  Value down = index.ceilDiv(fragments.rows.count, index.constant(tile.rows()));
  startTile = index.constant(0), endTile = fragments.tileCount;
  if (isBalanced()) {
    // The block is computed from the number: kept in a register of its own besides, it makes ptxas
    // spill where heads are of 128.
    UnitOrder::Unit unit =
        order(down).at(hopper.rem(number, blocks), blocks, hopper.div(number, blocks));
    headNumber = hopper.toIndex(unit.head);
    firstRow = index.mul(hopper.toIndex(unit.row), index.constant(tile.rows()));
  } else {
    Value unit = hopper.toIndex(number);
    headNumber = index.div(unit, down);
    firstRow = index.mul(index.rem(unit, down), index.constant(tile.rows()));
  }
  if (op.getPartials()) {
    Value parts = index.dim(op.getPartials(), 1), size = index.ceilDiv(endTile, parts);
    part = index.rem(headNumber, parts), headNumber = index.div(headNumber, parts);
    startTile = index.min(index.mul(part, size), endTile);
    endTile = index.min(endTile, index.add(startTile, size));
  }
  head = fragments.rows.headOf(headNumber);
  place.clear();
  for (Value at : head)
    place.push_back(hopper.fromIndex(at));
}

void HopperAttention::forEachUnit(llvm::function_ref<void(Places &)> body) {
  Value down = index.ceilDiv(fragments.rows.count, index.constant(tile.rows()));
  Value units = index.mul(fragments.rows.heads, down);
  if (op.getPartials())
    units = index.mul(units, index.dim(op.getPartials(), 1));
  Value end = isBalanced()
                  ? hopper.add(block, hopper.mul(order(down).roundsOf(block, blocks), blocks))
                  : hopper.fromIndex(units);
  Value zero = hopper.constant(0);
  hopper.loop(
      block, end, blocks, {zero, zero, zero, zero, zero}, [&](Value number, ValueRange carried) {
        enterUnit(number);
        Places places = Places::of(carried);
        body(places);
        places.queries = arith::XOrIOp::create(builder, loc, places.queries, hopper.constant(1));
        return places.all();
      });
}

void HopperAttention::run(const TilingContext &context) {
  block = hopper.fromIndex(context.thread), blocks = hopper.fromIndex(context.threads);
  group = hopper.uniform(hopper.div(hopper.thread, warpGroupThreads));
  consumer = hopper.add(group, -1);
  hopper.when(hopper.equals(hopper.thread, 0), [&] {
    int64_t warps = tile.consumers * warpGroupThreads / 32;
    if (!tile.packsRows) {
      Value queries = hopper.add(hopper.sharedBase, HopperAttentionTile::queryBarrier);
      hopper.initBarrier(queries, 1);
      hopper.initBarrier(hopper.add(queries, 8), warps);
    }
    tile.keyRing.init(hopper, warps);
    tile.valueRing.init(hopper, warps);
    hopper.publishBarriers();
  });
  gpu::BarrierOp::create(builder, loc);
  // Of the 168 registers that each of 384 threads has, or the 128 of 512, the producer gives most
  // away; to judge tiles, it keeps some. 256 threads have as many as they can name.
  int64_t kept = fragments.elements.isMasked() ? 40 : 24;
  int64_t taken = (65536 / warpGroupThreads - kept) / tile.consumers / 8 * 8;
  auto setRegisters = [&](int64_t count, bool increase) {
    if (tile.consumers > 1)
      hopper.setRegisters(count, increase);
  };
  hopper.when(
      hopper.equals(group, 0),
      [&] {
        setRegisters(kept, /*increase=*/false);
        Value isFirstWarp = hopper.below(hopper.thread, hopper.constant(32));
        hopper.when(isFirstWarp, [&] { produce(hopper.elect()); });
      },
      [&] {
        setRegisters(std::min<int64_t>(taken, 252 - kept / 2), /*increase=*/true);
        consume();
      });
}

void attn::emitHopperAttention(AttentionKernelOp op, const ScoreFunction &score,
                               const TilingContext &context, ValueRange maps) {
  OpBuilder builder(op);
  HopperAttention(op, score, builder, maps).run(context);
}
