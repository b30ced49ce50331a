// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: tiles of keys and values as they are multiplied, and what a mask says
// of them.
#include "compiler/cpu/attention/KeyTiles.h"
#include "compiler/cpu/attention/AttentionBlocks.h"
#include "compiler/cpu/attention/AttentionViews.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace attn {

void forParts(AttentionTiling &tiling, Value all, int64_t size,
              llvm::function_ref<void(Value, Value)> part) {
  IndexBuilder &index = tiling.index;
  Value most = index.constant(size);
  std::optional<int64_t> known = constantIndex(all);
  if (!known)
    return forLoop(index, tiling.zero, all, size,
                   [&](Value from) { part(from, index.min(most, index.sub(all, from))); });
  int64_t whole = *known / size * size;
  if (whole > 0)
    forLoop(index, tiling.zero, index.constant(whole), size, [&](Value from) { part(from, most); });
  if (whole < *known)
    part(index.constant(whole), index.constant(*known - whole));
}

Value keysOf(AttentionTiling &tiling, Value from, Value count) {
  const AttentionShape &shape = tiling.shape;
  AtPlace place = tiling.writeFor(AttentionTerm::Score);
  Value rows = rowsOf(tiling, tiling.head.key, from, count);
  if (!shape.pairs)
    return rows;
  Value packed = packedOf(tiling, shape.keyAt, from, shape.tileRoom, shape.blockRows);
  if (!tiling.group.areKeysPacked)
    RoundKeysTileOp::create(tiling.builder, tiling.index.loc, rows, packed, count);
  return rowsOf(tiling, packed, tiling.zero, count);
}

ValueTile valuesOf(AttentionTiling &tiling, Value from, Value count) {
  const AttentionShape &shape = tiling.shape;
  OpBuilder &builder = tiling.builder;
  IndexBuilder &index = tiling.index;
  AtPlace place = tiling.writeFor(AttentionTerm::Values);
  Value rows = rowsOf(tiling, tiling.head.value, from, count);
  if (shape.pairs) {
    Value packed = packedOf(tiling, shape.valueAt, from, shape.packedFeatures, shape.tileRoom / 2);
    if (tiling.group.areKeysPacked)
      return {packed, count, memref::LoadOp::create(builder, index.loc, tiling.group.areAllFinite)};
    auto turn = TurnValuesTileOp::create(builder, index.loc, rows, packed, count);
    return {packed, count, turn.getAreFinite()};
  }
  if (!isPacked(tiling))
    return {rows, count, {}};
  Value packed = packedOf(tiling, shape.valueAt, from, shape.tile, shape.packedFeatures);
  PackTileOp::create(builder, index.loc, rows, packed, count);
  return {packed, count, {}};
}

Interval boundTile(AttentionTiling &tiling, Value firstQuery, Value lastQuery, Value firstKey,
                   Value keys) {
  IndexBuilder &index = tiling.index;
  AtPlace place = tiling.writeFor(AttentionTerm::Mask);
  SmallVector<Interval> bounds;
  for (Value position : tiling.head.batch)
    bounds.push_back({position, position});
  bounds.push_back({firstQuery, lastQuery});
  bounds.push_back({firstKey, index.sub(index.add(firstKey, keys), index.constant(1))});
  return boundMask(tiling.builder, index.loc, tiling.op.getMask(), bounds, tiling.op.getCaptures());
}

void chooseByMask(AttentionTiling &tiling, Value verdict, llvm::function_ref<void()> yes,
                  llvm::function_ref<void()> no) {
  IndexBuilder index(tiling.builder, atTerm(tiling.op.getLoc(), AttentionTerm::Mask));
  choose(index, verdict, yes, no);
}

Interval boundGroup(AttentionTiling &tiling, Value firstKey, Value keys) {
  IndexBuilder &index = tiling.index;
  AtPlace place = tiling.writeFor(AttentionTerm::Mask);
  QueryGroup &group = tiling.group;
  Value end = index.min(firstOf(tiling, index.add(group.first, group.count)), tiling.queryCount);
  return boundTile(tiling, firstOf(tiling, group.first), index.sub(end, index.constant(1)),
                   firstKey, keys);
}

} // namespace attn
