// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears in f32, on FMA units. A block of threads has tiles of 64 rows and a panel's 48 columns:
//   for 16 of k: their rows and weights go to shared memory; each thread multiplies 8 rows with
//   3 columns, all sums in registers
// then bias and epilogue, element by element.
#include "compiler/Errors.h"
#include "compiler/cpu/LinearShape.h"
#include "compiler/cpu/VectorizeRegion.h"
#include "compiler/gpu/Kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

namespace {

class LinearBlock {
public:
  LinearBlock(LinearKernelOp op, const LinearShape &shape)
      : op(op), shape(shape), builder(op), loc(op.getLoc()), index(builder, loc) {
    thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
    rowCount = index.product(op.getOut(), 0, op.getOut().getType().getRank() - 1);
    rows = shared(tileDepth, tileRows + padding);
    weights = shared(tileDepth, panelWidth);
  }

  LogicalResult run(const TilingContext &context);

private:
  static constexpr int64_t tileRows = 64, tileDepth = 16;
  /// So that storing down a column meets few banks twice, and vectors of four are aligned.
  static constexpr int64_t padding = 4;
  /// Of a thread: neighbouring rows, and columns `threadsAcross` apart.
  static constexpr int64_t threadRows = 8, threadColumns = 3,
                           threadsAcross = panelWidth / threadColumns;
  static_assert(threadsAcross * tileRows / threadRows == blockThreads);

  Value shared(int64_t height, int64_t width);
  void tile(Value panel, Value firstRow);
  /// Rows [firstRow, + 64) and the panel's rows of [k, k + 16) into shared memory, zeros beyond.
  void fetch(Value panel, Value firstRow, Value k);
  void finish(Value panel, Value firstRow, ValueRange sums);
  Value number(double value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value isBelow(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
  }
  Value load(Value buffer, ValueRange place) {
    return memref::LoadOp::create(builder, loc, buffer, place);
  }

  LinearKernelOp op;
  LinearShape shape;
  OpBuilder builder;
  Location loc;
  IndexBuilder index;
  Value thread, rowCount, rows, weights;
};

} // namespace

Value LinearBlock::shared(int64_t height, int64_t width) {
  auto space = gpu::AddressSpaceAttr::get(op.getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({height, width}, builder.getF32Type(), AffineMap(), space);
  return op->getParentOfType<gpu::GPUFuncOp>().addWorkgroupAttribution(type, loc);
}

void LinearBlock::fetch(Value panel, Value firstRow, Value k) {
  Value lastRow = index.sub(rowCount, index.constant(1)), depth = index.constant(shape.k),
        lastK = index.constant(shape.k - 1);
  int64_t rank = cast<MemRefType>(op.getInput().getType()).getRank(),
          lifted = rank - static_cast<int64_t>(shape.ks.size());
  for (int64_t i = 0; i < tileRows * tileDepth / blockThreads; ++i) {
    Value element = index.add(thread, index.constant(i * blockThreads)),
          row = index.div(element, index.constant(tileDepth)),
          column = index.rem(element, index.constant(tileDepth));
    Value from = index.add(k, column), flat = index.min(index.add(firstRow, row), lastRow);
    SmallVector<Value> place = index.delinearize(flat, op.getInput(), 0, lifted);
    llvm::append_range(place,
                       index.delinearize(index.min(from, lastK), op.getInput(), lifted, rank));
    Value value = arith::SelectOp::create(builder, loc, isBelow(from, depth),
                                          load(op.getInput(), place), number(0));
    memref::StoreOp::create(builder, loc, value, rows, ValueRange{column, row});
  }
  Value start = index.mul(panel, index.constant(shape.k * panelWidth));
  for (int64_t i = 0; i < tileDepth * panelWidth / blockThreads; ++i) {
    Value element = index.add(thread, index.constant(i * blockThreads)),
          row = index.div(element, index.constant(panelWidth)),
          column = index.rem(element, index.constant(panelWidth));
    Value from = index.add(k, row);
    Value place = index.add(
        start, index.add(index.mul(index.min(from, lastK), index.constant(panelWidth)), column));
    Value value = arith::SelectOp::create(builder, loc, isBelow(from, depth),
                                          load(op.getPanels(), place), number(0));
    memref::StoreOp::create(builder, loc, value, weights, ValueRange{row, column});
  }
}

void LinearBlock::finish(Value panel, Value firstRow, ValueRange sums) {
  Value across = index.constant(threadsAcross), x = index.rem(thread, across),
        y = index.mul(index.div(thread, across), index.constant(threadRows));
  Value width = index.constant(shape.n);
  int64_t lifted = op.getOut().getType().getRank() - 1;
  for (int64_t r = 0; r < threadRows; ++r) {
    Value flat = index.add(firstRow, index.add(y, index.constant(r)));
    choose(index, isBelow(flat, rowCount), [&] {
      for (int64_t c = 0; c < threadColumns; ++c) {
        Value column = index.add(index.mul(panel, index.constant(panelWidth)),
                                 index.add(x, index.constant(c * threadsAcross)));
        choose(index, isBelow(column, width), [&] {
          auto placeIn = [&](Value buffer) {
            SmallVector<Value> place = index.delinearize(flat, buffer, 0, lifted);
            place.push_back(column);
            return place;
          };
          Value sum = sums[r * threadColumns + c];
          if (op.getBias())
            sum = arith::AddFOp::create(builder, loc, sum, load(op.getBias(), column));
          if (!op.getEpilogue().empty()) {
            SmallVector<Value> arguments{sum};
            for (Value capture : op.getCaptures())
              arguments.push_back(load(capture, placeIn(capture)));
            sum = inlineHook(builder, op.getEpilogue(), arguments, {}, {});
          }
          memref::StoreOp::create(builder, loc, sum, op.getOut(), placeIn(op.getOut()));
        });
      }
    });
  }
}

void LinearBlock::tile(Value panel, Value firstRow) {
  Value across = index.constant(threadsAcross), x = index.rem(thread, across),
        y = index.mul(index.div(thread, across), index.constant(threadRows));
  SmallVector<Value> zeros(threadRows * threadColumns, number(0));
  auto loop = scf::ForOp::create(builder, loc, index.constant(0), index.constant(shape.k),
                                 index.constant(tileDepth), zeros,
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    gpu::BarrierOp::create(builder, loc); // the step before has been multiplied
    fetch(panel, firstRow, loop.getInductionVar());
    gpu::BarrierOp::create(builder, loc);
    SmallVector<Value> sums(loop.getRegionIterArgs());
    for (int64_t k = 0; k < tileDepth; ++k) {
      SmallVector<Value> a, b;
      for (int64_t r = 0; r < threadRows; ++r)
        a.push_back(load(rows, {index.constant(k), index.add(y, index.constant(r))}));
      for (int64_t c = 0; c < threadColumns; ++c)
        b.push_back(
            load(weights, {index.constant(k), index.add(x, index.constant(c * threadsAcross))}));
      for (int64_t r = 0; r < threadRows; ++r)
        for (int64_t c = 0; c < threadColumns; ++c) {
          Value &sum = sums[r * threadColumns + c];
          sum = math::FmaOp::create(builder, loc, a[r], b[c], sum);
        }
    }
    scf::YieldOp::create(builder, loc, sums);
  }
  finish(panel, firstRow, loop.getResults());
}

LogicalResult LinearBlock::run(const TilingContext &context) {
  // Panel by panel, so that neighbouring blocks share weights.
  Value blocks = index.ceilDiv(rowCount, index.constant(tileRows)),
        units = index.mul(blocks, index.constant(shape.panels));
  forEachUnit(index, units, context.thread, context.threads, [&](Value unit) {
    tile(index.div(unit, blocks), index.mul(index.rem(unit, blocks), index.constant(tileRows)));
  });
  return success();
}

LogicalResult attn::emitLinear(LinearKernelOp op, const TilingContext &context) {
  auto shape = LinearShape::of(op, context.target);
  if (failed(shape))
    return failure();
  if (shape->precision != Precision::F32)
    return emitErrorOf(ErrorKind::Input, op.getLoc())
           << "linears of reduced precision have no code for GPUs yet";
  return LinearBlock(op, *shape).run(context);
}
