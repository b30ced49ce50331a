// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, of rotary rows whose pairs are neighbours: a vector has both columns of a pair.
#include "compiler/cpu/rows/Rows.h"
#include "compiler/kernels/rows/RowKernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

// Each angle is in two lanes: x cos + swapped x * (-sin, sin, -sin, ...).
void attn::emitNeighbours(RotaryRowOp op, const RowVectors &rows) {
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
  int64_t columns = 2 * op.getCos().getType().getDimSize(0);
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
    Value sin = rows.math.mul(angle(op.getSin(), place), sign);
    Value cos = angle(op.getCos(), place);
    rows.store(rows.math.fma(x, cos, rows.math.mul(turned, sin)), op.getOut(), place);
  });
  copyBehindPairs(op, rows);
}
