// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: sums divided by those of the weights, as rows of the output.
#include "compiler/cpu/attention/AttentionTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace attn {

/// Squares of sums, [feature][query], turned back into rows. Queries beyond the output's rows are
/// none.
static void emitTurned(TileVectors &tile, OutputTileOp op) {
  int64_t columns = cast<MemRefType>(op.getOut().getType()).getDimSize(1),
          lanes = tile.target.lanes;
  Value count = tile.index.dim(op.getOut(), 0);
  for (int64_t query = 0; query < static_cast<int64_t>(*op.getTurned()); query += lanes) {
    Value lane = tile.index.constant(query), scale;
    if (op.getNormalise()) {
      AtPlace place = tile.writeFor(AttentionTerm::Weight);
      Value sum = tile.load(op.getStatistics(), tile.index.constant(Sum), lane);
      Value isZero = arith::CmpFOp::create(tile.builder, tile.loc, arith::CmpFPredicate::OEQ, sum,
                                           tile.constant(0));
      Value quotient = arith::DivFOp::create(tile.builder, tile.loc, tile.constant(1), sum);
      scale = arith::SelectOp::create(tile.builder, tile.loc, isZero, tile.constant(0), quotient);
    }
    for (int64_t column = 0; column < columns; column += lanes) {
      SmallVector<Value> square;
      for (int64_t i = 0; i < lanes; ++i) {
        Value sum = tile.load(op.getSums(), tile.index.constant(column + i), lane);
        square.push_back(scale ? arith::MulFOp::create(tile.builder, tile.loc, sum, scale) : sum);
      }
      tile.transpose(square);
      for (int64_t i = 0; i < lanes; ++i) {
        Value row = tile.plus(lane, i);
        Value isThere =
            arith::CmpIOp::create(tile.builder, tile.loc, arith::CmpIPredicate::ult, row, count);
        choose(tile.index, isThere, [&] {
          tile.store(square[i], op.getOut(), row, tile.index.constant(column), columns - column);
        });
      }
    }
  }
}

LogicalResult vectorize(TileVectors &tile, OutputTileOp op) {
  if (op.getTurned()) {
    emitTurned(tile, op);
    return success();
  }
  int64_t columns = cast<MemRefType>(op.getOut().getType()).getDimSize(1);
  forLoop(tile.index, tile.index.constant(0), tile.index.dim(op.getOut(), 0), 1, [&](Value row) {
    Value scale;
    constexpr int64_t ahead = 8;
    tile.prefetch(op.getOut(), tile.plus(row, ahead), tile.index.constant(0), columns,
                  /*isWrite=*/true);
    if (op.getNormalise()) {
      AtPlace place = tile.writeFor(AttentionTerm::Weight);
      Value sum = memref::LoadOp::create(tile.builder, tile.loc, op.getStatistics(),
                                         ValueRange{tile.index.constant(Sum), row});
      scale =
          vector::BroadcastOp::create(tile.builder, tile.loc, tile.vectorType, tile.inverse(sum));
    }
    for (int64_t c = 0; c < columns; c += tile.target.lanes) {
      Value column = tile.index.constant(c), result = tile.load(op.getSums(), row, column);
      if (scale)
        result = arith::MulFOp::create(tile.builder, tile.loc, result, scale);
      tile.store(result, op.getOut(), row, column, columns - c);
    }
  });
  return success();
}

} // namespace attn
