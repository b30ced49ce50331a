// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, of rotary rows: (a, b) becomes (a cos - b sin, b cos + a sin). Columns behind
// the pairs are copied.
#include "compiler/cpu/rows/Rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

/// The pairs of a row that are turned.
static int64_t pairsOf(RotaryRowOp op) {
  return cast<MemRefType>(op.getCos().getType()).getDimSize(0);
}

/// a * x - b * y, or + where `sum`.
static Value combine(const RowVectors &rows, Value a, Value x, Value b, Value y, bool sum) {
  OpBuilder &builder = rows.index.builder;
  Location loc = rows.index.loc;
  Value product = arith::MulFOp::create(builder, loc, b, y);
  if (!sum)
    product = arith::NegFOp::create(builder, loc, product);
  return math::FmaOp::create(builder, loc, a, x, product);
}

/// Pairs (x[p], x[p + pairs]): two vectors side by side.
static void emitHalves(RotaryRowOp op, const RowVectors &rows) {
  Value pairs = rows.index.dim(op.getCos(), 0);
  rows.forEach(pairs, 2, [&](const RowPlace &place) {
    RowPlace second{rows.index.add(place.column, pairs), place.mask};
    Value a = rows.load(op.getInput(), place), b = rows.load(op.getInput(), second);
    Value cos = rows.load(op.getCos(), place), sin = rows.load(op.getSin(), place);
    rows.store(combine(rows, a, cos, b, sin, /*sum=*/false), op.getOut(), place);
    rows.store(combine(rows, b, cos, a, sin, /*sum=*/true), op.getOut(), second);
  });
}

/// Pairs (x[2p], x[2p + 1]) within a vector, and each angle for two lanes: x cos + swapped x *
/// (-sin, sin, -sin, ...).
static void emitNeighbours(RotaryRowOp op, const RowVectors &rows) {
  OpBuilder &builder = rows.index.builder;
  Location loc = rows.index.loc;
  int64_t lanes = rows.target.lanes;
  SmallVector<int64_t> swap, twice;
  SmallVector<float> signs;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    swap.push_back(lane ^ 1);
    twice.push_back(lane / 2);
    signs.push_back(lane % 2 ? 1.0f : -1.0f);
  }
  Value sign = arith::ConstantOp::create(builder, loc,
                                         DenseElementsAttr::get(rows.type, ArrayRef<float>(signs)));
  auto half = VectorType::get({lanes / 2}, builder.getF32Type());
  int64_t columns = 2 * pairsOf(op);
  auto angle = [&](Value row, const RowPlace &place) -> Value {
    Value pair = rows.index.div(place.column, rows.index.constant(2)), vector;
    if (place.mask) {
      Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(half));
      Value mask = vector::ConstantMaskOp::create(builder, loc,
                                                  VectorType::get({lanes / 2}, builder.getI1Type()),
                                                  ArrayRef<int64_t>(columns % lanes / 2));
      vector = vector::MaskedLoadOp::create(builder, loc, half, row, pair, mask, none);
    } else {
      vector = vector::LoadOp::create(builder, loc, half, row, pair);
    }
    return vector::ShuffleOp::create(builder, loc, vector, vector, twice);
  };
  rows.forEach(rows.index.constant(columns), 2, [&](const RowPlace &place) {
    Value x = rows.load(op.getInput(), place);
    Value turned = vector::ShuffleOp::create(builder, loc, x, x, swap);
    Value sin = arith::MulFOp::create(builder, loc, angle(op.getSin(), place), sign);
    rows.store(combine(rows, x, angle(op.getCos(), place), turned, sin, /*sum=*/true), op.getOut(),
               place);
  });
}

/// The columns behind those of the pairs.
static void copyOthers(RotaryRowOp op, const RowVectors &rows) {
  int64_t turned = 2 * pairsOf(op);
  int64_t others = cast<MemRefType>(op.getOut().getType()).getDimSize(0) - turned;
  if (others == 0)
    return;
  rows.forEach(rows.index.constant(others), 2, [&](const RowPlace &place) {
    RowPlace behind{rows.index.add(place.column, rows.index.constant(turned)), place.mask};
    rows.store(rows.load(op.getInput(), behind), op.getOut(), behind);
  });
}

void attn::emitRotary(RotaryRowOp op, const RowVectors &rows) {
  if (op.getInterleaved())
    emitNeighbours(op, rows);
  else
    emitHalves(op, rows);
  copyOthers(op, rows);
}
