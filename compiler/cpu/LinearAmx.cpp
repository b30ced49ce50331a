// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears of bf16 and int8 in tile registers. A unit of work is a panel and 32 rows:
//   for panel in those of the thread's share:
//     for block of 32 rows in those of the thread's share:
//       attn.linear_amx_tile: sums in 2 x 3 registers of 16 x 16, A in one more, B in the last
//         for 64 bytes of k:  A = 16 rows, B = 16 columns;  sums[a][b] += A * B
//       sums go to a buffer on the stack, and row by row through LinearEpilogue.h
// As without tile registers, panels come first and the next one is fetched meanwhile. All rows of
// a register are read: the planner leaves room behind the last row.
#include "compiler/cpu/Kernels.h"
#include "compiler/cpu/LinearEpilogue.h"
#include "compiler/cpu/LinearShape.h"
#include "compiler/cpu/PanelShare.h"
#include "compiler/cpu/TileRegisters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Bytes of a row of a register; registers of rows in a block.
static constexpr int64_t tileBytes = 64, blockTiles = 2;
static constexpr int64_t panelTiles = panelWidth / TileRegisters::rows, panelBytes = 4 * panelWidth;

//===-- memory -> tiled ---------------------------------------------------------------------===//

FailureOr<std::string> attn::tileLinearAmx(LinearKernelOp op, const LinearShape &shape,
                                           const TilingContext &context) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  constexpr int64_t most = blockTiles * TileRegisters::rows;
  Value rows = index.product(op.getOut(), 0, op.getOut().getType().getRank() - 1);
  Value blocks = index.ceilDiv(rows, index.constant(most)), one = index.constant(1);
  // Each block of a panel fetches its part of the next one.
  int64_t elements = shape.panelSteps() * shape.stepElements();
  int64_t lines =
      llvm::divideCeil(panelTiles * TileRegisters::rows, constantIndex(blocks).value_or(8));
  Value input = op.getRounded() ? op.getRounded() : op.getInput();

  auto tile = [&](int64_t tiles, Value panel, Value row, Value count, Value ahead) {
    auto tile =
        LinearAmxTileOp::create(builder, op.getLoc(), input, op.getPanels(), op.getQuantization(),
                                op.getBias(), op.getCaptures(), op.getOut(), row, count,
                                index.mul(panel, index.constant(panelWidth)), ahead, tiles, lines);
    IRMapping mapping;
    op.getEpilogue().cloneInto(&tile.getEpilogue(), mapping);
  };
  PanelShare share(index, shape.panels, blocks, context);
  share.forEach([&](Value panel, Value block) {
    Value next = index.min(index.add(panel, one), share.lastPanel);
    Value row = index.mul(block, index.constant(most)), left = index.sub(rows, row);
    int64_t perBlock = lines * elements / (panelTiles * TileRegisters::rows);
    Value within = index.min(index.mul(block, index.constant(perBlock)),
                             index.constant(std::max<int64_t>(elements - perBlock, 0)));
    Value ahead = index.add(index.mul(next, index.constant(elements)), within);
    Value needsAll = arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::ugt, left,
                                           index.constant(TileRegisters::rows));
    choose(
        index, needsAll,
        [&] { tile(blockTiles, panel, row, index.min(left, index.constant(most)), ahead); },
        [&] { tile(1, panel, row, left, ahead); });
  });
  return std::string("tile registers of 16 or 32 x 48");
}

//===-- tiled -> kernels --------------------------------------------------------------------===//

namespace {

class AmxEmitter {
public:
  AmxEmitter(LinearAmxTileOp op, const CpuTarget &target)
      : op(op), lanes(target.lanes), builder(op), index(builder, op.getLoc()),
        registers(index, target) {
    isInt8 = cast<MemRefType>(op.getPanels().getType()).getElementType().isInteger(8);
    precision = isInt8 ? Precision::Int8 : Precision::BF16;
    bytes = isInt8 ? 1 : 2;
    panels = llvm::divideCeil(columns(), panelWidth);
    panelElements = cast<MemRefType>(op.getPanels().getType()).getDimSize(0) / panels;
  }

  LogicalResult run();

private:
  static constexpr int64_t rowsRegister = 6, columnsRegister = 7;

  int64_t columns() { return op.getOut().getType().getShape().back(); }
  /// Products of all of k.
  void multiply();
  void fetchAhead(Value step);
  /// A buffer of the function's frame that the sums are stored to, [32][48].
  Value sumBuffer();
  LogicalResult finish(Value sums, int64_t count);

  LinearAmxTileOp op;
  int64_t lanes, bytes, panels, panelElements;
  bool isInt8;
  Precision precision;
  OpBuilder builder;
  IndexBuilder index;
  TileRegisters registers;
};

} // namespace

void AmxEmitter::fetchAhead(Value step) {
  int64_t line = tileBytes / bytes, each = op.getPace();
  Value first = index.add(op.getAhead(), index.mul(step, index.constant(each * line)));
  for (int64_t i = 0; i < each; ++i)
    memref::PrefetchOp::create(builder, op.getLoc(), op.getPanels(),
                               ValueRange(index.add(first, index.constant(i * line))),
                               /*isWrite=*/false, /*localityHint=*/2, /*isDataCache=*/true);
}

void AmxEmitter::multiply() {
  int64_t tiles = op.getTiles();
  SmallVector<int64_t> strides;
  int64_t offset;
  auto type = cast<MemRefType>(op.getInput().getType());
  if (failed(type.getStridesAndOffset(strides, offset)))
    llvm_unreachable("verified");
  int64_t pitch = strides.front() * bytes;
  Value none = index.constant(0), panel = index.div(op.getColumn(), index.constant(panelWidth));
  Value rows = registers.addressOf(op.getInput(), {op.getRow(), none});
  Value weights =
      registers.addressOf(op.getPanels(), index.mul(panel, index.constant(panelElements)));
  for (int64_t i = 0; i < tiles * panelTiles; ++i)
    registers.zero(i);
  int64_t steps = panelElements * bytes / (TileRegisters::rows * panelBytes);
  forLoop(index, none, index.constant(steps), 1, [&](Value step) {
    fetchAhead(step);
    Value within = registers.advance(rows, index.mul(step, index.constant(tileBytes)));
    Value down = registers.advance(
        weights, index.mul(step, index.constant(TileRegisters::rows * panelBytes)));
    for (int64_t t = 0; t < tiles; ++t) {
      registers.load(rowsRegister,
                     registers.advance(within, index.constant(t * TileRegisters::rows * pitch)),
                     pitch, /*once=*/true);
      for (int64_t v = 0; v < panelTiles; ++v) {
        registers.load(columnsRegister, registers.advance(down, index.constant(v * tileBytes)),
                       panelBytes);
        registers.multiply(t * panelTiles + v, rowsRegister, columnsRegister, precision);
      }
    }
  });
}

Value AmxEmitter::sumBuffer() {
  OpBuilder::InsertionGuard guard(builder);
  auto function = op->getParentOfType<func::FuncOp>();
  builder.setInsertionPointToStart(&function.getBody().front());
  Type element = isInt8 ? Type(builder.getI32Type()) : builder.getF32Type();
  auto type = MemRefType::get({blockTiles * TileRegisters::rows, panelWidth}, element);
  return memref::AllocaOp::create(builder, op.getLoc(), type, builder.getI64IntegerAttr(64));
}

LogicalResult AmxEmitter::finish(Value sums, int64_t count) {
  auto type = VectorType::get({lanes}, cast<MemRefType>(sums.getType()).getElementType());
  bool isBroken = false;
  forLoop(index, index.constant(0), op.getCount(), 1, [&](Value r) {
    SmallVector<Value> row;
    for (int64_t v = 0; v < panelWidth / lanes; ++v)
      row.push_back(vector::LoadOp::create(builder, op.getLoc(), type, sums,
                                           ValueRange{r, index.constant(v * lanes)}));
    isBroken |= failed(LinearEpilogue(index, op, lanes)
                           .finish(row, index.add(op.getRow(), r), 1, op.getColumn(), count));
  });
  return failure(isBroken);
}

LogicalResult AmxEmitter::run() {
  multiply();
  Value sums = sumBuffer();
  for (int64_t t = 0; t < static_cast<int64_t>(op.getTiles()); ++t)
    for (int64_t v = 0; v < panelTiles; ++v)
      registers.store(t * panelTiles + v,
                      registers.addressOf(sums, {index.constant(t * TileRegisters::rows),
                                                 index.constant(v * TileRegisters::rows)}),
                      panelBytes);
  int64_t last = columns() % panelWidth;
  if (last == 0)
    return finish(sums, panelWidth);
  if (panels == 1)
    return finish(sums, last);
  Value isWhole = arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::ult,
                                        op.getColumn(), index.constant(columns() - last));
  bool isBroken = false;
  choose(
      index, isWhole, [&] { isBroken |= failed(finish(sums, panelWidth)); },
      [&] { isBroken |= failed(finish(sums, last)); });
  return failure(isBroken);
}

LogicalResult attn::vectorizeLinearAmxTiles(Operation *root, const CpuTarget &target) {
  SmallVector<LinearAmxTileOp> tiles;
  root->walk([&](LinearAmxTileOp op) { tiles.push_back(op); });
  for (LinearAmxTileOp op : tiles) {
    if (failed(AmxEmitter(op, target).run()))
      return failure();
    op.erase();
  }
  return success();
}
