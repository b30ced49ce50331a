// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The batch dims of an attention to those that number rows and those that number heads, by the
// strides of keys.
#include "compiler/gpu/attention/QueryRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

bool attn::isRepeated(Value buffer, int64_t dim) {
  auto [strides, offset] = cast<MemRefType>(buffer.getType()).getStridesAndOffset();
  return strides[dim] == 0;
}

std::optional<int64_t> attn::rowsOfHead(AttentionKernelOp op) {
  ArrayRef<int64_t> sizes = cast<MemRefType>(op.getOut().getType()).getShape();
  auto dim = static_cast<int64_t>(op.getBatch());
  int64_t rows = 1;
  do {
    if (ShapedType::isDynamic(sizes[dim]))
      return std::nullopt;
    rows *= sizes[dim--];
  } while (dim >= 0 && isRepeated(op.getKey(), dim) && isRepeated(op.getValue(), dim));
  return rows;
}

QueryRows::QueryRows(AttentionKernelOp op, IndexBuilder index, bool packs)
    : op(op), index(index), dims(static_cast<int64_t>(op.getBatch())) {
  int64_t rowDim = dims;
  while (packs && dims > 0 && isRepeated(op.getKey(), dims - 1) &&
         isRepeated(op.getValue(), dims - 1))
    --dims;
  heads = index.product(op.getOut(), 0, dims);
  count = index.product(op.getOut(), dims, rowDim + 1);
  keyCount = index.dim(op.getKey(), rowDim);
}

SmallVector<Value> QueryRows::headOf(Value head) {
  return index.delinearize(head, op.getOut(), 0, dims);
}

SmallVector<Value> QueryRows::positionsOf(ValueRange head, Value row) {
  SmallVector<Value> positions(head);
  llvm::append_range(positions, index.delinearize(row, op.getOut(), dims,
                                                  static_cast<int64_t>(op.getBatch()) + 1));
  return positions;
}

Interval QueryRows::boundTile(ValueRange head, Value firstRow, Value lastRow, Value firstKey,
                              Value lastKey) {
  SmallVector<Value> first = positionsOf(head, firstRow), last = positionsOf(head, lastRow);
  SmallVector<Interval> bounds;
  for (size_t i = 0; i < first.size(); ++i) {
    // Rows run through all of an inner dim, but for the first and the last.
    if (static_cast<int64_t>(i) > dims)
      bounds.push_back(
          {index.constant(0), index.sub(index.dim(op.getOut(), i), index.constant(1))});
    else
      bounds.push_back({first[i], last[i]});
  }
  bounds.push_back({firstKey, lastKey});
  return boundMask(index.builder, index.loc, op.getMask(), bounds, op.getCaptures());
}

/// Whether bounds of tensors are asked for, which a warp finds together.
bool QueryRows::readsRanges() {
  OpBuilder::InsertionGuard guard(index.builder);
  Block unused;
  index.builder.setInsertionPointToStart(&unused);
  SmallVector<Interval> bounds;
  for (size_t i = 0; i < op.getBatch() + 2; ++i) {
    Value first = index.constant(0);
    bounds.push_back({first, index.constant(1)});
  }
  boundMask(index.builder, index.loc, op.getMask(), bounds, op.getCaptures());
  return !unused.getOps<RangeTileOp>().empty();
}

Value QueryRows::nextTile(const TensorCores &cores, ValueRange head, Value firstRow, Value lastRow,
                          int64_t tileKeys, Value from) {
  OpBuilder &builder = index.builder;
  Location loc = index.loc;
  Value size = index.constant(tileKeys), tileCount = index.ceilDiv(keyCount, size);
  auto isBelow = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
  };
  auto isLive = [&](Value tile) {
    Value firstKey = index.mul(tile, size), end = index.min(index.add(firstKey, size), keyCount);
    return boundTile(head, firstRow, lastRow, firstKey, index.sub(end, index.constant(1))).hi;
  };
  bool together = readsRanges();
  int64_t step = together ? 1 : 32;
  // A bit for each of 32 tiles that is live, or the lowest bit for one tile.
  auto liveBits = [&](Value tile) -> Value {
    if (!together) {
      Value own = index.add(tile, cores.lane);
      return cores.ballot(
          arith::AndIOp::create(builder, loc, isLive(own), isBelow(own, tileCount)));
    }
    Value isThere = isBelow(tile, tileCount);
    auto branch = scf::IfOp::create(
        builder, loc, isThere,
        [&](OpBuilder &, Location) { scf::YieldOp::create(builder, loc, isLive(tile)); },
        [&](OpBuilder &, Location) { scf::YieldOp::create(builder, loc, index.truth(false)); });
    return arith::ExtUIOp::create(builder, loc, builder.getI32Type(), branch.getResult(0));
  };
  auto loop = scf::WhileOp::create(
      builder, loc, TypeRange{from.getType(), builder.getI32Type()}, from,
      [&](OpBuilder &, Location, ValueRange tile) {
        Value bits = liveBits(tile[0]);
        Value none =
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bits, cores.integer(0));
        Value goesOn = arith::AndIOp::create(builder, loc, none, isBelow(tile[0], tileCount));
        scf::ConditionOp::create(builder, loc, goesOn, ValueRange{tile[0], bits});
      },
      [&](OpBuilder &, Location, ValueRange tile) {
        scf::YieldOp::create(builder, loc, index.add(tile[0], index.constant(step)));
      });
  Value first = index.add(loop.getResult(0), cores.firstBit(loop.getResult(1)));
  return index.min(first, tileCount);
}
