// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears. A block of threads has tiles of 64 rows and a panel's 48 columns: some of k at a time,
// their rows and weights go to shared memory, and products to sums in registers,
//   f32: of 8 rows and 3 columns in each thread, by FMA units;
//   bf16: of 16 rows and the panel in each warp, by mma.sync, whose words of weights are those of
//   the packed panels
// then bias and epilogue, element by element.
#include "compiler/Errors.h"
#include "compiler/cpu/LinearShape.h"
#include "compiler/cpu/VectorizeRegion.h"
#include "compiler/gpu/Kernels.h"
#include "compiler/gpu/LinearOutput.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

namespace {

/// What both kinds of products have in common.
class LinearBlock {
public:
  LinearBlock(LinearKernelOp op, const LinearShape &shape)
      : op(op), shape(shape), builder(op), loc(op.getLoc()), index(builder, loc) {
    thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
    rowCount = index.product(op.getOut(), 0, op.getOut().getType().getRank() - 1);
  }
  virtual ~LinearBlock() = default;

  void run(const TilingContext &context);

protected:
  static constexpr int64_t tileRows = 64;

  virtual void tile(Value panel, Value firstRow) = 0;
  Value shared(int64_t height, int64_t width, Type element);
  /// The place of element k of row `flat` of the input.
  SmallVector<Value> placeOf(Value flat, Value k);
  /// body(k, sums) over k in steps of `step`, with sums that begin at 0.
  SmallVector<Value> sumLoop(int64_t step, int64_t count,
                             llvm::function_ref<void(Value, MutableArrayRef<Value>)> body);
  Value number(double value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value isBelow(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value load(Value buffer, ValueRange place) {
    return memref::LoadOp::create(builder, loc, buffer, place);
  }
  void store(Value value, Value buffer, ValueRange place) {
    memref::StoreOp::create(builder, loc, value, buffer, place);
  }
  /// Number i of what the threads divide, neighbours by neighbouring threads.
  Value ofThread(int64_t i) { return index.add(thread, index.constant(i * blockThreads)); }

  LinearKernelOp op;
  LinearShape shape;
  OpBuilder builder;
  Location loc;
  IndexBuilder index;
  Value thread, rowCount;
};

class FmaLinear : public LinearBlock {
public:
  FmaLinear(LinearKernelOp op, const LinearShape &shape) : LinearBlock(op, shape) {
    rows = shared(tileDepth, tileRows + padding, builder.getF32Type());
    weights = shared(tileDepth, panelWidth, builder.getF32Type());
  }

private:
  static constexpr int64_t tileDepth = 16;
  /// So that storing down a column meets few banks twice, and vectors of four are aligned.
  static constexpr int64_t padding = 4;
  /// Of a thread: neighbouring rows, and columns `threadsAcross` apart.
  static constexpr int64_t threadRows = 8, threadColumns = 3,
                           threadsAcross = panelWidth / threadColumns;
  static_assert(threadsAcross * tileRows / threadRows == blockThreads);

  void tile(Value panel, Value firstRow) override;
  /// Rows [firstRow, + 64) and the panel's rows of [k, k + 16) into shared memory, zeros beyond.
  void fetch(Value panel, Value firstRow, Value k);

  Value rows, weights;
};

/// Fragments of mma.m16n8k16 (PTX ISA 9.7.14.5.8): with g = lane / 4 and t = lane % 4, a thread has
/// words t and t + 4 of rows g and g + 8, words t and t + 4 of column g, and of the sums columns
/// 2 t and 2 t + 1 of rows g and g + 8.
class TensorCoreLinear : public LinearBlock {
public:
  TensorCoreLinear(LinearKernelOp op, const LinearShape &shape) : LinearBlock(op, shape) {
    rows = shared(tileRows, tileWords + rowPadding, builder.getI32Type());
    weights = shared(tileWords, panelWidth + weightPadding, builder.getI32Type());
    Value four = index.constant(4), lane = index.rem(thread, index.constant(32));
    g = index.div(lane, four), t = index.rem(lane, four);
    warpRow = index.mul(index.div(thread, index.constant(32)), index.constant(16));
  }

private:
  /// Pairs of bf16 along k; with the padding, fragments lie in 32 different banks.
  static constexpr int64_t tileWords = 16, rowPadding = 4, weightPadding = 8;
  static constexpr int64_t tiles = panelWidth / 8; ///< of 8 columns

  void tile(Value panel, Value firstRow) override;
  void fetch(Value panel, Value firstRow, Value firstWord);
  /// Two bf16 that lie side by side, as a word.
  Value word(Value buffer, ValueRange place);

  Value rows, weights, g, t, warpRow;
};

} // namespace

Value LinearBlock::shared(int64_t height, int64_t width, Type element) {
  auto space = gpu::AddressSpaceAttr::get(op.getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({height, width}, element, AffineMap(), space);
  return op->getParentOfType<gpu::GPUFuncOp>().addWorkgroupAttribution(type, loc);
}

SmallVector<Value> LinearBlock::placeOf(Value flat, Value k) {
  int64_t rank = cast<MemRefType>(op.getInput().getType()).getRank(),
          lifted = rank - static_cast<int64_t>(shape.ks.size());
  SmallVector<Value> place = index.delinearize(flat, op.getInput(), 0, lifted);
  llvm::append_range(place, index.delinearize(k, op.getInput(), lifted, rank));
  return place;
}

SmallVector<Value>
LinearBlock::sumLoop(int64_t step, int64_t count,
                     llvm::function_ref<void(Value, MutableArrayRef<Value>)> body) {
  SmallVector<Value> zeros(count, number(0));
  auto loop = scf::ForOp::create(builder, loc, index.constant(0), index.constant(shape.k),
                                 index.constant(step), zeros,
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> sums(loop.getRegionIterArgs());
  body(loop.getInductionVar(), sums);
  scf::YieldOp::create(builder, loc, sums);
  return loop.getResults();
}

void LinearBlock::run(const TilingContext &context) {
  // Panel by panel, so that neighbouring blocks share weights.
  Value blocks = index.ceilDiv(rowCount, index.constant(tileRows)),
        units = index.mul(blocks, index.constant(shape.panels));
  forEachUnit(index, units, context.thread, context.threads, [&](Value unit) {
    tile(index.div(unit, blocks), index.mul(index.rem(unit, blocks), index.constant(tileRows)));
  });
}

//===-- f32 ---------------------------------------------------------------------------------===//

void FmaLinear::fetch(Value panel, Value firstRow, Value k) {
  Value lastRow = index.sub(rowCount, index.constant(1)), depth = index.constant(shape.k),
        lastK = index.constant(shape.k - 1);
  for (int64_t i = 0; i < tileRows * tileDepth / blockThreads; ++i) {
    Value row = index.div(ofThread(i), index.constant(tileDepth)),
          column = index.rem(ofThread(i), index.constant(tileDepth));
    Value from = index.add(k, column), flat = index.min(index.add(firstRow, row), lastRow);
    Value value = load(op.getInput(), placeOf(flat, index.min(from, lastK)));
    store(select(isBelow(from, depth), value, number(0)), rows, {column, row});
  }
  Value start = index.mul(panel, index.constant(shape.k * panelWidth));
  for (int64_t i = 0; i < tileDepth * panelWidth / blockThreads; ++i) {
    Value row = index.div(ofThread(i), index.constant(panelWidth)),
          column = index.rem(ofThread(i), index.constant(panelWidth));
    Value from = index.add(k, row);
    Value place = index.add(
        start, index.add(index.mul(index.min(from, lastK), index.constant(panelWidth)), column));
    Value value = load(op.getPanels(), place);
    store(select(isBelow(from, depth), value, number(0)), weights, {row, column});
  }
}

void FmaLinear::tile(Value panel, Value firstRow) {
  Value across = index.constant(threadsAcross), x = index.rem(thread, across),
        y = index.mul(index.div(thread, across), index.constant(threadRows));
  auto columnOf = [&](int64_t c) { return index.add(x, index.constant(c * threadsAcross)); };
  auto sums =
      sumLoop(tileDepth, threadRows * threadColumns, [&](Value k, MutableArrayRef<Value> sums) {
        gpu::BarrierOp::create(builder, loc); // the step before has been multiplied
        fetch(panel, firstRow, k);
        gpu::BarrierOp::create(builder, loc);
        for (int64_t k = 0; k < tileDepth; ++k) {
          SmallVector<Value> a, b;
          for (int64_t r = 0; r < threadRows; ++r)
            a.push_back(load(rows, {index.constant(k), index.add(y, index.constant(r))}));
          for (int64_t c = 0; c < threadColumns; ++c)
            b.push_back(load(weights, {index.constant(k), columnOf(c)}));
          for (int64_t r = 0; r < threadRows; ++r)
            for (int64_t c = 0; c < threadColumns; ++c) {
              Value &sum = sums[r * threadColumns + c];
              sum = math::FmaOp::create(builder, loc, a[r], b[c], sum);
            }
        }
      });
  Value firstColumn = index.mul(panel, index.constant(panelWidth));
  for (int64_t r = 0; r < threadRows; ++r) {
    Value flat = index.add(firstRow, index.add(y, index.constant(r)));
    choose(index, isBelow(flat, rowCount), [&] {
      LinearOutputRow output(op, index, flat);
      for (int64_t c = 0; c < threadColumns; ++c)
        output.finish(index.add(firstColumn, columnOf(c)), sums[r * threadColumns + c]);
    });
  }
}

//===-- bf16 --------------------------------------------------------------------------------===//

Value TensorCoreLinear::word(Value buffer, ValueRange place) {
  auto pair = VectorType::get({2}, cast<MemRefType>(buffer.getType()).getElementType());
  Value halves = vector::LoadOp::create(builder, loc, pair, buffer, place);
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), halves);
}

void TensorCoreLinear::fetch(Value panel, Value firstRow, Value firstWord) {
  Value lastRow = index.sub(rowCount, index.constant(1)), two = index.constant(2),
        words = index.constant(shape.k / 2), lastWord = index.constant(shape.k / 2 - 1);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  for (int64_t i = 0; i < tileRows * tileWords / blockThreads; ++i) {
    Value row = index.div(ofThread(i), index.constant(tileWords)),
          column = index.rem(ofThread(i), index.constant(tileWords));
    Value from = index.add(firstWord, column), flat = index.min(index.add(firstRow, row), lastRow);
    // An even number of elements lie side by side.
    SmallVector<Value> place = placeOf(flat, index.mul(index.min(from, lastWord), two));
    store(select(isBelow(from, words), word(op.getInput(), place), zero), rows, {row, column});
  }
  // Panels have zeros behind the last word, to a multiple of 16.
  Value start = index.add(index.mul(panel, index.constant(shape.panelSteps() * panelWidth)),
                          index.mul(firstWord, index.constant(panelWidth)));
  for (int64_t i = 0; i < tileWords * panelWidth / blockThreads; ++i) {
    Value row = index.div(ofThread(i), index.constant(panelWidth)),
          column = index.rem(ofThread(i), index.constant(panelWidth));
    Value place = index.mul(index.add(start, ofThread(i)), two);
    store(word(op.getPanels(), place), weights, {row, column});
  }
}

void TensorCoreLinear::tile(Value panel, Value firstRow) {
  Value four = index.constant(4), eight = index.constant(8), two = index.constant(2);
  Type f32 = builder.getF32Type();
  auto fragment = LLVM::LLVMStructType::getLiteral(op.getContext(), {f32, f32, f32, f32});
  auto sums = sumLoop(2 * tileWords, 4 * tiles, [&](Value k, MutableArrayRef<Value> sums) {
    gpu::BarrierOp::create(builder, loc); // the step before has been multiplied
    fetch(panel, firstRow, index.div(k, two));
    gpu::BarrierOp::create(builder, loc);
    for (int64_t half = 0; half < tileWords / 8; ++half) {
      Value near = index.add(t, index.constant(8 * half)), far = index.add(near, four);
      Value upper = index.add(warpRow, g), lower = index.add(upper, eight);
      SmallVector<Value> a{load(rows, {upper, near}), load(rows, {lower, near}),
                           load(rows, {upper, far}), load(rows, {lower, far})};
      for (int64_t n = 0; n < tiles; ++n) {
        Value column = index.add(g, index.constant(8 * n));
        SmallVector<Value> operands(a);
        operands.append({load(weights, {near, column}), load(weights, {far, column})});
        auto own = sums.slice(4 * n, 4);
        llvm::append_range(operands, own);
        bool isF16 = shape.precision == Precision::F16;
        for (Value &word : MutableArrayRef(operands).take_front(isF16 ? 6 : 0))
          word = LLVM::BitcastOp::create(builder, loc, VectorType::get({2}, builder.getF16Type()),
                                         word);
        Value product = LLVM::CallIntrinsicOp::create(
                            builder, loc, fragment,
                            builder.getStringAttr(isF16 ? "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
                                                        : "llvm.nvvm.mma.m16n8k16.row.col.bf16"),
                            operands)
                            .getResult(0);
        for (auto [i, sum] : llvm::enumerate(own))
          sum = LLVM::ExtractValueOp::create(builder, loc, product, i);
      }
    }
  });
  Value firstColumn = index.add(index.mul(panel, index.constant(panelWidth)), index.mul(t, two));
  for (int64_t r = 0; r < 2; ++r) {
    Value flat = index.add(index.add(firstRow, warpRow), index.add(g, index.constant(8 * r)));
    choose(index, isBelow(flat, rowCount), [&] {
      LinearOutputRow output(op, index, flat);
      for (int64_t n = 0; n < tiles; ++n)
        output.finish(index.add(firstColumn, index.constant(8 * n)), sums[4 * n + 2 * r],
                      sums[4 * n + 2 * r + 1], shape.n % panelWidth == 0);
    });
  }
}

LogicalResult attn::emitLinear(LinearKernelOp op, const TilingContext &context) {
  auto shape = LinearShape::of(op, context.target);
  if (failed(shape))
    return failure();
  if (shape->precision == Precision::F32)
    FmaLinear(op, *shape).run(context);
  else if (isHalf(shape->precision))
    TensorCoreLinear(op, *shape).run(context);
  else
    return emitErrorOf(ErrorKind::Input, op.getLoc())
           << "linears of int8 and int4 have no code for GPUs yet";
  return success();
}
