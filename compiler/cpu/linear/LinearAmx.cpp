// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears of bf16 and int8 in tile registers. A unit of work is a panel and 32 rows:
//   for group of up to 256 rows:
//     for part of k:
//       for panel in those of the thread's share:
//         for block of 32 rows in those of the thread's share:
//           attn.linear_amx_tile: sums in 2 x 3 registers of 16 x 16, A in one more, B in the last
//             for 64 bytes of k, backwards in every other block:
//               a few rows of the block before become outputs (LinearEpilogue.h)
//               A = 16 rows, B = 16 columns;  sums[a][b] += A * B;  ask for lines of the next panel
//   attn.linear_amx_finish: the last block's rows
// A part of the group's rows stays in the second-level cache while the panels pass by; between the
// parts sums are in the scratch. Outputs are computed between the products of another block, which
// take up a unit of their own. As without tile registers, panels come before rows and the next one
// is fetched meanwhile. All rows of a register are read: the planner leaves room behind the last
// row.
#include "compiler/cpu/linear/Linear.h"
#include "compiler/cpu/linear/LinearEpilogue.h"
#include "compiler/cpu/linear/PanelShare.h"
#include "compiler/cpu/vectors/TileRegisters.h"
#include "compiler/kernels/KernelFacts.h"
#include "compiler/kernels/LinearShape.h"
#include "compiler/transforms/TargetModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Bytes of a row of a register; registers of rows in a block.
static constexpr int64_t tileBytes = 64,
                         blockTiles = TargetModel::tileBlockRows / TileRegisters::rows;
static constexpr int64_t panelTiles = panelWidth / TileRegisters::rows,
                         pairRowBytes = 4 * panelWidth;
static constexpr int64_t blockRows = TargetModel::tileBlockRows;

//===-- memory -> tiled ---------------------------------------------------------------------===//

namespace {

/// What `pending` holds (linear_amx_tile).
enum Pending : int64_t { Count, Place, Row, Column, Size };

class AmxTiler {
public:
  AmxTiler(LinearKernelOp op, const LinearShape &shape, const CpuTiling &context,
           const OpBuilder &at)
      : op(op), shape(shape), context(context), builder(at), index(builder, op.getLoc()),
        multiplied(shape.isOfBytes ? Precision::Int8 : shape.precision),
        stepElements(TileRegisters::rows * formatOf(multiplied).group() / shape.group() *
                     shape.stepElements()),
        steps(formatOf(multiplied).words(shape.k) / TileRegisters::rows),
        parts(TargetModel::tileParts(steps * tileBytes)) {}

  void run();

private:
  struct Place {
    Value panel, from, to;   ///< steps of k [from, to)
    Value firstBlock, block; ///< of the group, and within it
    Value ahead;             ///< of `panels`: where the next part of a panel begins
    Value widened;           ///< the panel's part as int8, or null
  };
  /// The thread's room behind its sums, with the panel's steps [from, to) as int8.
  Value widen(Value panel, Value from, Value to);
  /// `body` for numbers of blocks of a group that have code of their own.
  void forCountsOfBlocks(llvm::function_ref<void()> body);
  /// Blocks [first, first + count).
  void group(Value first, Value count);
  void block(const Place &place);
  /// The first row of a block's sums. Those of the block before become outputs before they are
  /// stored, so that a thread needs room for one block where no sums are kept between parts.
  Value sumsOf(const Place &place);

  LinearKernelOp op;
  const LinearShape &shape;
  const CpuTiling &context;
  OpBuilder builder;
  IndexBuilder index;
  Precision multiplied;
  int64_t stepElements; ///< of `panels`
  int64_t steps, parts;
  int64_t streams; ///< places of the next part that are fetched from
  Value each;      ///< cache lines with a step, from each
  Value rows, groupBlocks, sums, pending;
};

} // namespace

Value AmxTiler::sumsOf(const Place &place) {
  int64_t floats = cast<MemRefType>(op.getScratch().getType()).getDimSize(1);
  Value own = index.constant(floats / panelWidth);
  if (parts == 1) // at the beginning of the thread's row
    return index.mul(context.thread, own);
  // The rows of all blocks and panels are behind all threads' rows.
  Value blocks = index.mul(place.panel, index.constant(TargetModel::tileGroupRows / blockRows));
  return index.add(index.mul(context.threads, own),
                   index.mul(index.add(blocks, place.block), index.constant(blockRows)));
}

void AmxTiler::block(const Place &place) {
  Value row = index.mul(index.add(place.firstBlock, place.block), index.constant(blockRows));
  Value left = index.sub(rows, row);
  // Each step of each block fetches its share of the part that comes next.
  Value stepsBefore = index.mul(place.block, index.sub(place.to, place.from));
  int64_t lineElements = attn::lineElements(op.getPanels());
  Value fetched = index.mul(each, index.constant(lineElements));
  Value ahead = index.add(place.ahead, index.mul(stepsBefore, fetched));
  int64_t partLines = llvm::divideCeil(steps, parts) * stepElements / lineElements;
  int64_t apart = llvm::divideCeil(partLines, streams) * lineElements;
  auto tile = [&](int64_t tiles, Value count) {
    auto tile = LinearAmxTileOp::create(
        builder, op.getLoc(), op.getRounded() ? op.getRounded() : op.getInput(), op.getPanels(),
        place.widened, multipliedQuantization(op), op.getBias(), op.getCaptures(), op.getOut(),
        sums, pending, row, count, index.mul(place.panel, index.constant(panelWidth)),
        sumsOf(place), place.from, place.to, ahead, each, tiles,
        llvm::divideCeil(blockRows, steps / parts), streams, apart, steps);
    IRMapping mapping;
    op.getEpilogue().cloneInto(&tile.getEpilogue(), mapping);
  };
  Value needsAll = arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::ugt, left,
                                         index.constant(TileRegisters::rows));
  choose(
      index, needsAll, [&] { tile(blockTiles, index.min(left, index.constant(blockRows))); },
      [&] { tile(1, left); });
}

void AmxTiler::group(Value first, Value count) {
  PanelShare share(index, shape.panels, count, context.pieces);
  Value zero = index.constant(0), one = index.constant(1);
  auto elementOf = [&](Value panel, Value step) {
    // Panels of groups may end within a step.
    Value before = index.mul(panel, index.constant(shape.panelSteps() * shape.stepElements()));
    return index.add(before, index.mul(step, index.constant(stepElements)));
  };
  forLoop(index, zero, index.constant(parts), 1, [&](Value number) {
    auto stepAt = [&](Value number) {
      return index.div(index.mul(number, index.constant(steps)), index.constant(parts));
    };
    Value start = stepAt(number), end = stepAt(index.add(number, one));
    share.forEachPanel([&](Value panel, Value from, Value to) {
      // The same part of the next panel; after the last one the next part, or the first one again.
      Value isLast = arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::eq, panel,
                                           share.lastPanel);
      Value ahead = arith::SelectOp::create(
          builder, op.getLoc(), isLast,
          elementOf(share.firstPanel, index.rem(end, index.constant(steps))),
          elementOf(index.add(panel, one), start));
      Value widened = shape.isOfBytes ? widen(panel, start, end) : Value();
      forLoop(index, from, to, 1,
              [&](Value block) { this->block({panel, start, end, first, block, ahead, widened}); });
    });
  });
}

Value AmxTiler::widen(Value panel, Value from, Value to) {
  int64_t floats = cast<MemRefType>(op.getScratch().getType()).getDimSize(1),
          before = panelWidth * blockRows;
  Value room = viewOf(index, op.getScratch(), {context.thread, builder.getIndexAttr(before)},
                      {builder.getIndexAttr(1), builder.getIndexAttr(floats - before)}, 1);
  // A step is two lines, or one where k ends.
  int64_t lines = shape.k / scaleGroup;
  Value two = index.constant(2), first = index.mul(from, two),
        end = index.min(index.mul(to, two), index.constant(lines));
  Value line = index.add(index.mul(panel, index.constant(lines)), first);
  Value start = index.mul(line, index.constant(scaleGroup / shape.group() * shape.stepElements()));
  WidenBytesTileOp::create(
      builder, op.getLoc(), op.getPanels(), op.getQuantization()[1], op.getQuantization()[3], room,
      start, index.mul(line, index.constant(shape.format().lineNumbers() * panelWidth)),
      index.mul(panel, index.constant(panelWidth)), index.sub(end, first), shape.precision,
      /*padded=*/lines % 2 != 0);
  return room;
}

void AmxTiler::forCountsOfBlocks(llvm::function_ref<void()> body) {
  // Every block of a group goes through all steps of a panel, which have so many lines each.
  constexpr int64_t mostStreams = 12;
  int64_t stepLines = stepElements / attn::lineElements(op.getPanels());
  auto known = [&](int64_t count) {
    int64_t lines = llvm::divideCeil(stepLines, count);
    int64_t perStream = llvm::divideCeil(lines, mostStreams);
    streams = llvm::divideCeil(lines, perStream), each = index.constant(perStream);
    body();
  };
  if (auto count = constantIndex(groupBlocks))
    return known(std::max<int64_t>(*count, 1));
  auto atLeast = [&](int64_t count, llvm::function_ref<void()> fewer) {
    if (leastOf(rows) > (count - 1) * blockRows)
      return known(count);
    Value isMore = arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::uge,
                                         groupBlocks, index.constant(count));
    choose(index, isMore, [&] { known(count); }, fewer);
  };
  auto few = [&] {
    streams = mostStreams;
    each = index.ceilDiv(index.constant(stepLines / mostStreams),
                         index.max(groupBlocks, index.constant(1)));
    body();
  };
  atLeast(7, [&] { atLeast(4, few); }); // 193 to 256 rows, 97 to 192, fewer
}

void AmxTiler::run() {
  rows = index.product(op.getOut(), 0, op.getOut().getType().getRank() - 1);
  Value blocks = index.ceilDiv(rows, index.constant(blockRows));
  Value groups = index.ceilDiv(rows, index.constant(TargetModel::tileGroupRows));
  groupBlocks = index.ceilDiv(blocks, index.max(groups, index.constant(1)));
  SmallVector<ReassociationIndices> all = {{0, 1}};
  sums = memref::CollapseShapeOp::create(builder, op.getLoc(), op.getScratch(), all);
  pending = memref::AllocaOp::create(builder, op.getLoc(),
                                     MemRefType::get({Pending::Size}, builder.getIndexType()));
  memref::StoreOp::create(builder, op.getLoc(), index.constant(0), pending,
                          index.constant(Pending::Count));
  forCountsOfBlocks([&] {
    forLoop(index, index.constant(0), groups, 1, [&](Value number) {
      Value first = index.mul(number, groupBlocks);
      group(first, index.min(groupBlocks, index.sub(blocks, first)));
    });
  });
  auto finish =
      LinearAmxFinishOp::create(builder, op.getLoc(), multipliedQuantization(op), op.getBias(),
                                op.getCaptures(), op.getOut(), sums, pending);
  IRMapping mapping;
  op.getEpilogue().cloneInto(&finish.getEpilogue(), mapping);
}

FailureOr<std::string> attn::tileLinearAmx(LinearKernelOp op, const LinearShape &shape,
                                           const CpuTiling &context, const OpBuilder &builder) {
  AmxTiler(op, shape, context, builder).run();
  KernelFacts(op).append("tiles", llvm::json::Object{{"rows", llvm::json::Array{16, 32}},
                                                     {"columns", shape.width},
                                                     {"panel", shape.width},
                                                     {"registers", "amx"}});
  return std::string("tile registers of 16 or 32 x 48");
}

//===-- tiled -> kernels --------------------------------------------------------------------===//

namespace {

/// The rows that are pending where a tile begins.
class PendingRows {
public:
  template <typename AmxOp>
  PendingRows(IndexBuilder index, AmxOp op, const CpuTarget &target)
      : index(index), lanes(target.lanes), columns(op.getOut().getType().getShape().back()),
        isInt8(!op.getQuantization().empty()), sums(op.getSums()), pending(op.getPending()),
        epilogue(index, op, target) {
    auto load = [&](Pending field) {
      return memref::LoadOp::create(index.builder, index.loc, pending, index.constant(field));
    };
    count = load(Count), place = load(Place), row = load(Row), column = load(Column);
  }

  /// Rows [from, to) of them become outputs.
  LogicalResult finish(Value from, Value to);
  void leave(Value count, Value place, Value row, Value column) {
    for (auto [field, value] :
         {std::pair(Count, count), {Place, place}, {Row, row}, {Column, column}})
      memref::StoreOp::create(index.builder, index.loc, value, pending, index.constant(field));
  }

  Value count;

private:
  IndexBuilder index;
  int64_t lanes, columns;
  bool isInt8;
  Value sums, pending, place, row, column;
  LinearEpilogue epilogue;
};

class AmxEmitter {
public:
  AmxEmitter(LinearAmxTileOp op, const CpuTarget &target)
      : op(op), builder(op), index(builder, op.getLoc()), registers(index, target),
        pending(index, op, target) {
    bool isInt8 = cast<MemRefType>(op.getPanels().getType()).getElementType().isInteger(8);
    precision = isInt8 ? Precision::Int8 : Precision::BF16;
    bytes = isInt8 ? 1 : 2;
    int64_t panels = llvm::divideCeil(op.getOut().getType().getShape().back(), panelWidth);
    panelElements = cast<MemRefType>(op.getPanels().getType()).getDimSize(0) / panels;
    steps = static_cast<int64_t>(op.getAll());
  }

  LogicalResult run();

private:
  static constexpr int64_t rowsRegister = 6, columnsRegister = 7;

  void forSums(llvm::function_ref<void(int64_t number, Value address)> body);
  /// Finishes piece `piece` of `pieces` of the pending rows that belong to step `number`.
  LogicalResult finishRows(Value number, int64_t piece, int64_t pieces);
  /// Products of the chunk, and pending rows.
  LogicalResult multiply();
  /// Where the lines of the next part begin that step `number` asks for; one of them; those that
  /// come with a product; those that come behind all.
  Value aheadOf(Value number);
  void fetch(Value first, int64_t stream, Value line);
  void fetchAhead(Value first, int64_t product, int64_t products);
  void fetchRest(Value first);
  Value is(Value number, int64_t other);

  LinearAmxTileOp op;
  int64_t bytes, panelElements, steps;
  Precision precision;
  OpBuilder builder;
  IndexBuilder index;
  TileRegisters registers;
  PendingRows pending;
};

} // namespace

LogicalResult PendingRows::finish(Value from, Value to) {
  OpBuilder &builder = index.builder;
  auto floats = VectorType::get({lanes}, builder.getF32Type()),
       integers = VectorType::get({lanes}, builder.getI32Type());
  bool isBroken = false;
  forLoop(index, from, to, 1, [&](Value r) {
    SmallVector<Value> vectors;
    for (int64_t v = 0; v < panelWidth / lanes; ++v) {
      Value first = index.mul(index.add(place, r), index.constant(panelWidth));
      Value vector = vector::LoadOp::create(builder, index.loc, floats, sums,
                                            index.add(first, index.constant(v * lanes)));
      vectors.push_back(isInt8 ? arith::BitcastOp::create(builder, index.loc, integers, vector)
                               : vector);
    }
    auto store = [&](int64_t count) {
      isBroken |= failed(epilogue.finish(vectors, index.add(row, r), 1, column, count));
    };
    int64_t last = columns % panelWidth;
    if (last == 0 || columns < panelWidth)
      return store(last == 0 ? panelWidth : last);
    Value isWhole = arith::CmpIOp::create(builder, index.loc, arith::CmpIPredicate::ult, column,
                                          index.constant(columns - last));
    choose(index, isWhole, [&] { store(panelWidth); }, [&] { store(last); });
  });
  return failure(isBroken);
}

Value AmxEmitter::aheadOf(Value number) {
  Value lines = index.mul(number, op.getEach());
  return index.add(op.getAhead(), index.mul(lines, index.constant(tileBytes / bytes)));
}

void AmxEmitter::fetch(Value first, int64_t stream, Value line) {
  Value within = index.mul(line, index.constant(tileBytes / bytes));
  Value offset = index.add(index.constant(stream * static_cast<int64_t>(op.getApart())), within);
  memref::PrefetchOp::create(builder, op.getLoc(), op.getPanels(), index.add(first, offset),
                             /*isWrite=*/false, /*localityHint=*/2, /*isDataCache=*/true);
}

void AmxEmitter::fetchAhead(Value first, int64_t product, int64_t products) {
  int64_t streams = op.getStreams(), lines = streams * constantIndex(op.getEach()).value_or(1);
  for (int64_t i = lines * product / products; i < lines * (product + 1) / products; ++i)
    fetch(first, i % streams, index.constant(i / streams));
}

void AmxEmitter::fetchRest(Value first) {
  if (constantIndex(op.getEach()))
    return;
  forLoop(index, index.constant(1), op.getEach(), 1, [&](Value line) {
    for (int64_t stream = 0; stream < static_cast<int64_t>(op.getStreams()); ++stream)
      fetch(first, stream, line);
  });
}

void AmxEmitter::forSums(llvm::function_ref<void(int64_t number, Value address)> body) {
  Value first =
      registers.addressOf(op.getSums(), index.mul(op.getPlace(), index.constant(panelWidth)));
  for (int64_t t = 0; t < static_cast<int64_t>(op.getTiles()); ++t)
    for (int64_t v = 0; v < panelTiles; ++v)
      body(t * panelTiles + v,
           registers.advance(
               first, index.constant(t * TileRegisters::rows * pairRowBytes + v * tileBytes)));
}

/// Whether an epilogue is a function as GELU, of so many instructions that a core would not see the
/// products behind those of all rows that are finished with a step.
static bool isLong(Region &epilogue) {
  return llvm::any_of(epilogue.getOps(), [](Operation &op) {
    return isa_and_present<math::MathDialect>(op.getDialect());
  });
}

LogicalResult AmxEmitter::finishRows(Value number, int64_t piece, int64_t pieces) {
  int64_t pace = op.getPace(), from = pace * piece / pieces, to = pace * (piece + 1) / pieces;
  if (from == to)
    return success();
  Value first = index.mul(number, index.constant(pace));
  auto row = [&](int64_t r) {
    return index.min(index.add(first, index.constant(r)), pending.count);
  };
  return pending.finish(row(from), row(to));
}

LogicalResult AmxEmitter::multiply() {
  int64_t pitch =
      cast<MemRefType>(op.getInput().getType()).getStridesAndOffset().first.front() * bytes;
  Value none = index.constant(0), panel = index.div(op.getColumn(), index.constant(panelWidth));
  Value rows = registers.addressOf(op.getInput(), {op.getRow(), none});
  Value weights =
      op.getWidened()
          ? registers.advance(
                registers.addressOf(op.getWidened(), none),
                index.mul(op.getFrom(), index.constant(-TileRegisters::rows * pairRowBytes)))
          : registers.addressOf(op.getPanels(), index.mul(panel, index.constant(panelElements)));
  // Where a part of a panel is larger than the first-level cache, every other block goes through k
  // backwards, from what the block before left there.
  Value start = op.getFrom(), direction = index.constant(1);
  int64_t partSteps = llvm::divideCeil(steps, TargetModel::tileParts(steps * tileBytes));
  if (partSteps * TileRegisters::rows * pairRowBytes > TargetModel::tileL1Bytes) {
    Value block = index.div(op.getRow(), index.constant(blockRows));
    Value isOdd = is(index.rem(block, index.constant(2)), 1);
    auto either = [&](Value odd, Value even) -> Value {
      return arith::SelectOp::create(builder, op.getLoc(), isOdd, odd, even);
    };
    start = either(index.sub(op.getTo(), index.constant(1)), start);
    direction = either(index.constant(-1), direction);
  }
  int64_t tiles = op.getTiles(), pieces = isLong(op.getEpilogue()) ? tiles : 1;
  bool isBroken = false;
  forLoop(index, none, index.sub(op.getTo(), op.getFrom()), 1, [&](Value number) {
    Value step = index.add(start, index.mul(number, direction)), ahead = aheadOf(number);
    registers.keepVectorsAwake();
    Value within = registers.advance(rows, index.mul(step, index.constant(tileBytes)));
    Value down = registers.advance(
        weights, index.mul(step, index.constant(TileRegisters::rows * pairRowBytes)));
    for (int64_t t = 0; t < tiles; ++t) {
      if (t < pieces)
        isBroken |= failed(finishRows(number, t, pieces));
      registers.load(rowsRegister,
                     registers.advance(within, index.constant(t * TileRegisters::rows * pitch)),
                     pitch, /*once=*/true);
      // Every other time from the last columns on, which are still in the register.
      for (int64_t i = 0; i < panelTiles; ++i) {
        int64_t v = t % 2 == 0 ? i : panelTiles - 1 - i;
        if (t == 0 || i > 0)
          registers.load(columnsRegister, registers.advance(down, index.constant(v * tileBytes)),
                         pairRowBytes);
        fetchAhead(ahead, t * panelTiles + i, tiles * panelTiles);
        registers.multiply(t * panelTiles + v, rowsRegister, columnsRegister, precision);
      }
    }
    fetchRest(ahead);
  });
  return failure(isBroken);
}

Value AmxEmitter::is(Value number, int64_t other) {
  return builder.createOrFold<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::eq, number,
                                             index.constant(other));
}

LogicalResult AmxEmitter::run() {
  choose(
      index, is(op.getFrom(), 0),
      [&] { forSums([&](int64_t number, Value) { registers.zero(number); }); },
      [&] {
        forSums(
            [&](int64_t number, Value address) { registers.load(number, address, pairRowBytes); });
      });
  if (failed(multiply()))
    return failure();
  forSums([&](int64_t number, Value address) { registers.store(number, address, pairRowBytes); });
  Value left = arith::SelectOp::create(builder, op.getLoc(), is(op.getTo(), steps), op.getCount(),
                                       index.constant(0));
  pending.leave(left, op.getPlace(), op.getRow(), op.getColumn());
  return success();
}

LogicalResult attn::vectorizeLinearAmxTiles(Operation *root, const CpuTarget &target) {
  SmallVector<Operation *> tiles;
  root->walk([&](Operation *op) {
    if (isa<LinearAmxTileOp, LinearAmxFinishOp>(op))
      tiles.push_back(op);
  });
  for (Operation *tile : tiles) {
    if (auto op = dyn_cast<LinearAmxTileOp>(tile)) {
      if (failed(AmxEmitter(op, target).run()))
        return failure();
    } else {
      OpBuilder builder(tile);
      IndexBuilder index(builder, tile->getLoc());
      PendingRows pending(index, cast<LinearAmxFinishOp>(tile), target);
      if (failed(pending.finish(index.constant(0), pending.count)))
        return failure();
    }
    tile->erase();
  }
  return success();
}
