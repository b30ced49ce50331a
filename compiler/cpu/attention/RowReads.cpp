// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: the elements that a score tile reads of biases and masks that are
// tensors. Queries are the lanes and rows of keys lie element by element, so a vector would be
// gathered, each lane out of another row: rows of the tile's keys are loaded instead, and
// transposed.
#include "compiler/cpu/attention/RowReads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;

namespace attn {

/// Whether it can be transposed: 32 bits, or widened to them.
static bool isRowElement(Type type) {
  return type.isF32() || type.isF16() || type.isInteger(8) || type.isInteger(32);
}

/// Where the element lies for the tile's first query and key, if it is one of such rows.
static std::optional<RowRead> rowRead(IndexBuilder index, ScoreTileOp op, ElementOp element) {
  auto type = cast<MemRefType>(element.getTensor().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!isRowElement(type.getElementType()) || failed(type.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return std::nullopt;
  Block &region = op.getScore().front();
  OperandRange places = op.getPositions();
  size_t queryNumber = places.size() - 3; // of the positions; the key is the last one
  RowRead read{element, {}, strides.size()};
  for (auto [axis, position] : llvm::enumerate(element.getPositions())) {
    auto argument = dyn_cast<BlockArgument>(position);
    bool isLast = axis + 1 == strides.size();
    if (argument && argument.getOwner() == &region) {
      size_t number = argument.getArgNumber() - 1; // after the score
      bool isQuery = number == queryNumber, isKey = number == queryNumber + 1;
      if (isKey != isLast || (isQuery && read.queryAxis != strides.size()))
        return std::nullopt;
      if (isQuery)
        read.queryAxis = axis;
      read.position.push_back(isKey ? places.back() : places[number]);
      continue;
    }
    std::optional<int64_t> known = constantIndex(position);
    if (isLast || !known)
      return std::nullopt;
    read.position.push_back(index.constant(*known));
  }
  return read.queryAxis == strides.size() ? std::nullopt : std::optional(read);
}

SmallVector<RowRead> rowReads(TileVectors &tile, ScoreTileOp op) {
  SmallVector<RowRead> reads;
  if (op.getScore().empty() || op.getPositions().empty() || op.getRepeats())
    return reads; // a row ends before a key that is repeated
  for (auto element : op.getScore().front().getOps<ElementOp>())
    if (std::optional<RowRead> read = rowRead(tile.index, op, element))
      reads.push_back(*read);
  return reads;
}

void prefetchRow(TileVectors &tile, const RowRead &read, ScoreTileOp op, Value query) {
  Value tensor = ElementOp(read.element).getTensor();
  if (cast<MemRefType>(tensor.getType()).getElementTypeBitWidth() == 8)
    return;
  AtPlace place = tile.writeAt(ElementOp(read.element).getLoc());
  SmallVector<Value> position = read.position;
  position[read.queryAxis] = tile.index.add(position[read.queryAxis], query);
  position.back() = tile.plus(position.back(), lineElements(tensor));
  memref::PrefetchOp::create(tile.builder, tile.loc, tensor, position, /*isWrite=*/false,
                             /*localityHint=*/3,
                             /*isDataCache=*/true);
}

/// Of 32 bits.
static Value widened(TileVectors &tile, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  if (type.getElementType().isF16())
    return arith::ExtFOp::create(tile.builder, tile.loc, type.clone(tile.builder.getF32Type()),
                                 vector);
  if (type.getElementType().isInteger(8))
    return arith::ExtUIOp::create(tile.builder, tile.loc, type.clone(tile.builder.getI32Type()),
                                  vector);
  return vector;
}

/// One vector of a power of two of them.
static Value joined(TileVectors &tile, ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts.front();
  Value low = joined(tile, parts.take_front(parts.size() / 2)),
        high = joined(tile, parts.drop_front(parts.size() / 2));
  SmallVector<int64_t> all(2 * cast<VectorType>(low.getType()).getDimSize(0));
  std::iota(all.begin(), all.end(), 0);
  return vector::ShuffleOp::create(tile.builder, tile.loc, low, high, all);
}

SmallVector<Value> readRows(TileVectors &tile, const RowRead &read, ScoreTileOp op) {
  int64_t lanes = tile.target.lanes, keys = op.getKeys(), vectors = tile.vectorsOf(op.getQueries());
  Value tensor = ElementOp(read.element).getTensor(),
        lastQuery = op.getPositions().drop_back().back();
  Type element = cast<MemRefType>(tensor.getType()).getElementType();
  SmallVector<Value> all(keys * vectors);
  AtPlace place = tile.writeAt(ElementOp(read.element).getLoc());
  for (int64_t w = 0; w < vectors; ++w)
    for (int64_t from = 0, size; from < keys; from += size) {
      size = std::min<int64_t>(llvm::bit_floor(uint64_t(keys - from)), lanes);
      SmallVector<Value> rows;
      for (int64_t i = 0; i < size; ++i) {
        SmallVector<Value> parts; // every size-th row: squares of them side by side
        for (int64_t lane = i; lane < lanes; lane += size) {
          SmallVector<Value> position = read.position;
          Value &query = position[read.queryAxis];
          query = tile.index.min(tile.plus(query, w * lanes + lane), lastQuery);
          position.back() = tile.plus(position.back(), from);
          auto type = VectorType::get({size}, element);
          parts.push_back(widened(
              tile, vector::LoadOp::create(tile.builder, tile.loc, type, tensor, position)));
        }
        rows.push_back(joined(tile, parts));
      }
      tile.transpose(rows);
      for (int64_t j = 0; j < size; ++j) {
        if (element.isInteger(8)) {
          Value zero = arith::ConstantOp::create(tile.builder, tile.loc,
                                                 tile.builder.getZeroAttr(rows[j].getType()));
          rows[j] = arith::CmpIOp::create(tile.builder, tile.loc, arith::CmpIPredicate::ne, rows[j],
                                          zero);
        }
        all[(from + j) * vectors + w] = rows[j];
      }
    }
  return all;
}

} // namespace attn
