// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, of kernels on rows: threads share the rows, or pieces of rows where those are
// few.
#include "compiler/cpu/Kernels.h"
#include "compiler/cpu/RowVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

/// Fewer rows than this are cut into pieces for the threads, of this many columns.
static constexpr int64_t fewRows = 16, pieceColumns = 512;

namespace {
/// What a thread works on at a time.
struct Piece {
  Value row;         ///< flat
  Value from, count; ///< columns; null where it is all
};
} // namespace

/// Loops over the thread's share of `rows` x pieces of at most `width` columns.
static void forEachPiece(IndexBuilder index, const TilingContext &context, Value rows,
                         Value columns, int64_t width,
                         llvm::function_ref<void(const Piece &)> body) {
  std::optional<int64_t> size = constantIndex(columns);
  if (size && *size <= width)
    return context.forEachUnit(index, rows, [&](Value unit) { body({unit, {}, {}}); });
  Value step = index.constant(width), pieces = index.ceilDiv(columns, step);
  context.forEachUnit(index, index.mul(rows, pieces), [&](Value unit) {
    Value from = index.mul(index.rem(unit, pieces), step), row = index.div(unit, pieces);
    bool isEven = size && *size % width == 0;
    body({row, from, isEven ? step : index.min(step, index.sub(columns, from))});
  });
}

static std::string wholeRows() { return "row by row"; }

static std::string pieces(int64_t columns) {
  return "in pieces of " + std::to_string(columns) + " columns";
}

/// Loops over the thread's share of the rows of `out`.
static void forEachRow(IndexBuilder index, const TilingContext &context, Value out,
                       llvm::function_ref<void(Value)> body) {
  Value rows = index.product(out, 0, cast<MemRefType>(out.getType()).getRank() - 1);
  context.forEachUnit(index, rows, body);
}

FailureOr<std::string> attn::tileNorm(NormKernelOp op, const TilingContext &context) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  Value out = op.getOut();
  forEachRow(index, context, out, [&](Value row) {
    NormRowOp::create(builder, op.getLoc(), rowOf(index, op.getInput(), row, 1), op.getGamma(),
                      op.getBeta(), rowOf(index, out, row, 1), op.getEpsAttr());
  });
  return wholeRows();
}

FailureOr<std::string> attn::tileNormBytes(NormBytesKernelOp op, const TilingContext &context) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  int64_t columns = op.getInput().getType().getShape().back();
  Value normed =
      rowOf(index, op.getScratch(), context.thread, 1, index.constant(0), index.constant(columns));
  forEachRow(index, context, op.getOut(), [&](Value row) {
    auto of = [&](Value buffer) { return rowOf(index, buffer, row, 1); };
    NormRowOp::create(builder, op.getLoc(), of(op.getInput()), op.getGamma(), op.getBeta(), normed,
                      op.getEpsAttr());
    QuantizeRowOp::create(builder, op.getLoc(), normed, of(op.getOut()), of(op.getRange()),
                          /*alone=*/true);
  });
  return wholeRows();
}

FailureOr<std::string> attn::tileRound(RoundKernelOp op, const TilingContext &context) {
  if (!context.target.multipliesPairs())
    return std::string("not needed");
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  forEachRow(index, context, op.getOut(), [&](Value row) {
    RoundRowOp::create(builder, op.getLoc(), rowOf(index, op.getInput(), row, 1),
                       rowOf(index, op.getOut(), row, 1));
  });
  return wholeRows();
}

FailureOr<std::string> attn::tileQuantize(QuantizeKernelOp op, const TilingContext &context) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  forEachRow(index, context, op.getOut(), [&](Value row) {
    auto of = [&](Value buffer) { return rowOf(index, buffer, row, 1); };
    QuantizeRowOp::create(builder, op.getLoc(), of(op.getInput()), of(op.getOut()),
                          of(op.getRange()), /*alone=*/false);
  });
  return wholeRows();
}

FailureOr<std::string> attn::tileMap(MapKernelOp op, const TilingContext &context) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  Value out = op.getOut();
  MemRefType type = op.getOut().getType();
  int64_t last = type.getRank() - 1;
  Value rows = index.product(out, 0, last), columns = index.dim(out, last);
  int64_t width = leastCount(out, 0, last) < fewRows ? pieceColumns : INT64_MAX;
  if (type.isDynamicDim(last))
    width = pieceColumns;
  forEachPiece(index, context, rows, columns, width, [&](const Piece &piece) {
    SmallVector<Value> inputs;
    for (Value input : op.getInputs())
      inputs.push_back(rowOf(index, input, piece.row, 1, piece.from, piece.count));
    auto row = MapRowOp::create(builder, op.getLoc(), inputs,
                                rowOf(index, out, piece.row, 1, piece.from, piece.count));
    row.getBody().takeBody(op.getBody());
  });
  return width == INT64_MAX ? wholeRows() : pieces(width);
}

FailureOr<std::string> attn::tileMean(MeanKernelOp op, const TilingContext &context) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  Value out = op.getOut();
  int64_t last = op.getOut().getType().getRank() - 1;
  int64_t width = 4 * context.target.lanes; // as many columns as are summed at a time
  forEachPiece(index, context, index.product(out, 0, last), index.dim(out, last), width,
               [&](const Piece &piece) {
                 MeanRowOp::create(
                     builder, op.getLoc(),
                     rowOf(index, op.getInput(), piece.row, 2, piece.from, piece.count),
                     rowOf(index, out, piece.row, 1, piece.from, piece.count));
               });
  return pieces(width);
}

FailureOr<std::string> attn::tileLookup(LookupKernelOp op, const TilingContext &context) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  IndexBuilder index(builder, loc);
  Value out = op.getOut(), indices = op.getIndices();
  MemRefType type = op.getOut().getType();
  int64_t last = type.getRank() - 1;
  int64_t width = leastCount(out, 0, last) < fewRows ? pieceColumns : INT64_MAX;
  forEachPiece(index, context, index.product(out, 0, last), index.dim(out, last), width,
               [&](const Piece &piece) {
                 int64_t dims = cast<MemRefType>(indices.getType()).getRank();
                 Value id = memref::LoadOp::create(builder, loc, indices,
                                                   index.delinearize(piece.row, indices, 0, dims));
                 Value row = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), id);
                 Value from = rowOf(index, op.getTable(), row, 1, piece.from, piece.count);
                 auto copy = MapRowOp::create(
                     builder, loc, from, rowOf(index, out, piece.row, 1, piece.from, piece.count));
                 OpBuilder::InsertionGuard guard(builder);
                 Block *block =
                     builder.createBlock(&copy.getBody(), {}, {builder.getF32Type()}, {loc});
                 YieldOp::create(builder, loc, block->getArgument(0));
               });
  return width == INT64_MAX ? wholeRows() : pieces(width);
}

FailureOr<std::string> attn::tileRotary(RotaryKernelOp op, const TilingContext &context) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  forEachRow(index, context, op.getOut(), [&](Value row) {
    auto of = [&](Value buffer) { return rowOf(index, buffer, row, 1); };
    RotaryRowOp::create(builder, op.getLoc(), of(op.getInput()), of(op.getCos()), of(op.getSin()),
                        of(op.getOut()), op.getInterleaved());
  });
  return wholeRows();
}
