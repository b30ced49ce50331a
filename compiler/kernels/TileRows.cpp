// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, of kernels on rows: threads share the rows, or pieces of rows where those are
// few.
#include "compiler/kernels/TileRows.h"
#include "dialect/Choices.h"
#include "dialect/Scans.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

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

static std::string tileWholeRows(RowKernelOpInterface op, const TilingContext &context) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  Operation *before = op->getPrevNode();
  auto own = [&](Value scratch) { // the same for all rows
    OpBuilder::InsertionGuard guard(builder);
    before ? builder.setInsertionPointAfter(before)
           : builder.setInsertionPointToStart(op->getBlock());
    int64_t columns = cast<MemRefType>(op.getRows().getType()).getShape().back();
    return rowOf(index, scratch, context.thread, 1, index.constant(0), index.constant(columns));
  };
  Value rows = index.product(op.getRows(), 0, rankOf(op.getRows()) - 1);
  context.forEachUnit(index, rows, [&](Value row) {
    op.createRow(builder, {[&](Value buffer) { return rowOf(index, buffer, row, 1); }, own});
  });
  return wholeRows();
}

static std::string tileMap(MapKernelOp op, const TilingContext &context) {
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

static std::string tileReduce(ReduceKernelOp op, const TilingContext &context) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  Value out = op.getOut();
  int64_t last = op.getOut().getType().getRank() - 1;
  int64_t width = 4 * context.unit.lanes; // as many columns as are reduced at a time
  int64_t kept = op.getReduced() + (op.getAcross() ? 0 : 1);
  Value rows = index.product(out, 0, last);
  Value columns = op.getAcross() ? index.constant(1) : index.dim(out, last);
  forEachPiece(index, context, rows, columns, width, [&](const Piece &piece) {
    SmallVector<Value> inputs;
    for (Value input : op.getInputs())
      inputs.push_back(rowOf(index, input, piece.row, kept, piece.from, piece.count));
    auto row = ReduceRowOp::create(builder, op.getLoc(), inputs,
                                   rowOf(index, out, piece.row, 1, piece.from, piece.count),
                                   op.getKind(), op.getAcross());
    row.getBody().takeBody(op.getBody());
  });
  return op.getAcross() ? wholeRows() : pieces(width);
}

static std::string tileLookup(LookupKernelOp op, const TilingContext &context) {
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
                 Value table = op.getTable();
                 if (rankOf(table) > 2) // one for each row
                   table = rowOf(index, table, piece.row, 2, piece.from, piece.count);
                 Value from = rankOf(op.getTable()) > 2
                                  ? rowOf(index, table, row, 1)
                                  : rowOf(index, table, row, 1, piece.from, piece.count);
                 auto copy = MapRowOp::create(
                     builder, loc, from, rowOf(index, out, piece.row, 1, piece.from, piece.count));
                 OpBuilder::InsertionGuard guard(builder);
                 Type element = cast<MemRefType>(from.getType()).getElementType();
                 Value read =
                     builder.createBlock(&copy.getBody(), {}, {element}, {loc})->getArgument(0);
                 bool isNarrow = element != type.getElementType();
                 YieldOp::create(builder, loc, isNarrow ? widened(index, read) : read);
               });
  return width == INT64_MAX ? wholeRows() : pieces(width);
}

/// One thread counts and places all choices: beside what experts compute it is little.
static std::string tileGroup(GroupKernelOp op, const TilingContext &context) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  IndexBuilder index(builder, loc);
  Value places = op.getPlaces(), none = index.constant(0), one = index.constant(1);
  int64_t last = rankOf(places) - 1;
  Value rows = index.product(places, 0, last), choices = index.dim(places, last),
        experts = index.dim(op.getCounts(), 0);
  auto load = [&](Value table, Value at) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      memref::LoadOp::create(builder, loc, table, at));
  };
  auto store = [&](Value number, Value table, Value at) {
    Value narrow = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), number);
    memref::StoreOp::create(builder, loc, narrow, table, at);
  };
  // body(row, choice of all, expert)
  auto forEachChoice = [&](llvm::function_ref<void(Value, Value, Value)> body) {
    forLoop(index, none, rows, 1, [&](Value row) {
      Value own = rowOf(index, places, row, 1);
      forLoop(index, none, choices, 1, [&](Value choice) {
        body(row, index.add(index.mul(row, choices), choice), load(own, choice));
      });
    });
  };
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, context.thread, none);
  choose(index, isFirst, [&] {
    forLoop(index, none, experts, 1, [&](Value expert) { store(none, op.getCounts(), expert); });
    forEachChoice([&](Value, Value, Value expert) {
      store(index.add(load(op.getCounts(), expert), one), op.getCounts(), expert);
    });
    store(none, op.getFirsts(), none);
    forLoop(index, one, experts, 1, [&](Value expert) {
      Value before = index.sub(expert, one);
      store(index.add(load(op.getFirsts(), before), load(op.getCounts(), before)), op.getFirsts(),
            expert);
    });
    // Counts begin again, and say how many of an expert have their places.
    forLoop(index, none, experts, 1, [&](Value expert) { store(none, op.getCounts(), expert); });
    forEachChoice([&](Value row, Value choice, Value expert) {
      Value count = load(op.getCounts(), expert),
            slot = index.add(load(op.getFirsts(), expert), count);
      store(index.add(count, one), op.getCounts(), expert);
      store(slot, op.getSlots(), choice);
      store(row, op.getTokens(), slot);
    });
  });
  return "by one thread";
}

static std::string tileScan(ScanKernelOp op, const TilingContext &context) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  Value state = op.getFinal()[0], room = op.getScratch();
  int64_t last = rankOf(state) - 1, width = scanColumns(context.unit.lanes);
  Value own = rowOf(index, room, context.thread, 1);
  Value rows = index.product(state, 0, last - 1), columns = index.dim(state, last);
  forEachPiece(index, context, rows, columns, width, [&](const Piece &piece) {
    auto pieceOf = [&](ValueRange buffers, int64_t kept) {
      return llvm::map_to_vector(buffers, [&](Value buffer) {
        return rowOf(index, buffer, piece.row, kept, piece.from, piece.count);
      });
    };
    auto row = ScanRowOp::create(builder, op.getLoc(), pieceOf(op.getInputs(), 3),
                                 pieceOf(op.getInitial(), 2), pieceOf(op.getOuts(), 3),
                                 pieceOf(op.getFinal(), 2), own, op.getReverse());
    row.getBody().takeBody(op.getBody());
  });
  return pieces(width);
}

std::string attn::tileRows(Operation *kernel, const TilingContext &context) {
  return llvm::TypeSwitch<Operation *, std::string>(kernel)
      .Case([&](MapKernelOp op) { return tileMap(op, context); })
      .Case([&](ReduceKernelOp op) { return tileReduce(op, context); })
      .Case([&](LookupKernelOp op) { return tileLookup(op, context); })
      .Case([&](GroupKernelOp op) { return tileGroup(op, context); })
      .Case([&](ScanKernelOp op) { return tileScan(op, context); })
      .Case([&](RowKernelOpInterface op) { return tileWholeRows(op, context); });
}
