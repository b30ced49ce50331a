// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.linear_tile as vector code:
//   sums[rows][vectors] = scf.for k ... iter_args(zeros)
//     sums[r][v] += input[r][k] in all lanes * panels[k][v]      (LinearProducts.h)
//   what LinearEpilogue.h says
// Rows are found once, before the loop (RowViews.h). The last columns are stored under a mask.
#include "compiler/cpu/linear/Linear.h"
#include "compiler/cpu/linear/LinearEpilogue.h"
#include "compiler/cpu/linear/LinearProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

namespace {

class TileEmitter {
public:
  TileEmitter(LinearTileOp op, const LinearShape &shape, const CpuTarget &target)
      : op(op), target(target), shape(shape), lanes(target.lanes), rows(op.getRows()),
        columns(op.getColumns()), builder(op), index(builder, op.getLoc()),
        products(index, target, multipliedPrecision(op, shape), takesNumbers(op)),
        vectorType(VectorType::get({lanes}, builder.getF32Type())) {
    if (!op.getWidened())
      return;
    this->shape.precision = multipliedPrecision(op, shape), this->shape.isWidened = false;
    widening = shape.group() / this->shape.group();
  }

  LogicalResult run();

private:
  using Values = SmallVector<Value>;

  /// What a tile is multiplied in: widened panels of 16 bits in f32, those of groups in int8.
  static Precision multipliedPrecision(LinearTileOp op, const LinearShape &shape) {
    if (!op.getWidened())
      return shape.precision;
    if (takesNumbers(op))
      return Precision::Int8Groups;
    return shape.format().hasGroups() ? Precision::Int8 : Precision::F32;
  }
  /// Whether widened panels are bytes with the scales of groups, which only those have besides.
  static bool takesNumbers(LinearTileOp op) {
    return op.getWidened() && op.getQuantization().size() > 3;
  }
  /// Elements of the buffer of weights that a step takes of a column, and of all. Those of widened
  /// panels are words, whatever is in them.
  int64_t stepWords() { return op.getWidened() ? 1 : shape.words(); }
  int64_t stepElements() { return shape.width * stepWords(); }

  /// The sums after the loops over contracted dims [d, ...); `ks` are the outer ones' variables and
  /// `flat` counts the steps before.
  Values contract(size_t d, Values ks, Value flat, Values sums);
  void fetchAhead(Value flat);
  /// scf.if, with what both sides give.
  Values choose(Value condition, llvm::function_ref<Values()> yes, llvm::function_ref<Values()> no);
  /// Emits for the number of columns that the tile has within `out`: all, or those of the last
  /// tile.
  Values forColumns(llvm::function_ref<Values(int64_t)> emit);
  Values loadSums(int64_t count);
  /// The sums of a part, their bits.
  void storeSums(ArrayRef<Value> sums, int64_t count);
  int64_t unroll() {
    if (shape.format().hasGroups()) // a line, whatever its steps are
      return scaleGroup / shape.group();
    return op.getUnroll() ? static_cast<int64_t>(*op.getUnroll()) : shape.unroll();
  }
  /// Steps of the outermost contracted dim for one of the op.
  int64_t outerSteps() { return shape.ks.size() > 1 ? 1 : widening; }
  RowViews views() { return {index, op.getRow(), rows}; }
  Values outs() { return views().of(op.getOut(), op.getOut().getType().getRank() - 1); }
  /// The number of a step's line.
  Value lineOf(Value step) { return index.div(step, index.constant(scaleGroup / shape.group())); }
  /// Where the scales of a line begin, of all columns of its panel.
  Value scaleOf(Value line) {
    return index.mul(line, index.constant(shape.format().lineNumbers() * shape.width));
  }
  void multiplyLine(Value step, Value start, Value weights, MutableArrayRef<Value> sums);
  ColumnVector access(int64_t v, int64_t count) {
    return {index, op.getColumn(), v * lanes, lanes, std::min(lanes, count - v * lanes)};
  }

  LinearTileOp op;
  const CpuTarget &target;
  LinearShape shape;    ///< as it is multiplied
  int64_t widening = 1; ///< steps that are multiplied for one of the panels
  int64_t lanes, rows, columns;
  OpBuilder builder;
  IndexBuilder index;
  LinearProducts products;
  VectorType vectorType;
  SmallVector<Value> inputs; ///< a row's contracted dims
  Value weights; ///< where the tile's columns begin in their panel, or in its widened part
  Value scales;  ///< and in the lines of groups
  SmallVector<Value> ranges; ///< of groups: scale, zero, perhaps the sums of each 32 elements
};

} // namespace

void TileEmitter::fetchAhead(Value flat) {
  if (!op.getAhead())
    return;
  int64_t pace = op.getPace() / widening, line = lineElements(op.getPanels());
  Value first = index.add(op.getAhead(), index.mul(flat, index.constant(pace)));
  for (int64_t i = 0; i < pace * unroll(); i += line)
    memref::PrefetchOp::create(builder, op.getLoc(), op.getPanels(),
                               ValueRange(index.add(first, index.constant(i))), /*isWrite=*/false,
                               /*localityHint=*/op.getNear() ? 3 : 2, /*isDataCache=*/true);
}

/// Adds the products of the steps that share a line, from `step` of k on, which is number `start`
/// of the tile's; `weights` is the place of its weights.
void TileEmitter::multiplyLine(Value step, Value start, Value weights,
                               MutableArrayRef<Value> sums) {
  Value sum = index.add(lineOf(step), index.constant(2));
  Values rowSums;
  for (Value range : shape.format().hasOffsets ? ArrayRef<Value>(ranges) : ArrayRef<Value>())
    rowSums.push_back(memref::LoadOp::create(builder, op.getLoc(), range, sum));
  Value k = products.areRowsSplit() ? index.mul(start, index.constant(2 * shape.group()))
                                    : index.mul(step, index.constant(shape.group()));
  products.scaledSteps(inputs, k,
                       {op.getWidened() ? op.getWidened() : op.getPanels(), weights, stepElements(),
                        op.getQuantization()[1], index.add(scales, scaleOf(lineOf(start))),
                        rowSums},
                       sums);
}

/// Has LLVM leave a loop a loop.
static void keepRolled(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  auto unroll =
      LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true), {}, {}, {}, {}, {}, {});
  auto annotation = LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {},
                                                  {}, {}, {}, {}, {}, {});
  loop->setAttr("loop_annotation", annotation);
}

TileEmitter::Values TileEmitter::contract(size_t d, Values ks, Value flat, Values sums) {
  Location loc = op.getLoc();
  bool isInner = d + 1 == shape.ks.size();
  int64_t size = d == 0 ? outerSteps() * op.getDepth() : shape.steps(d);
  int64_t unroll = isInner ? this->unroll() : 1, looped = size - size % unroll;
  flat = index.mul(flat, index.constant(size));
  auto body = [&](Value k, int64_t steps, Values sums) {
    Value start = index.add(flat, k), own = k;
    if (d == 0)
      own = index.add(index.mul(op.getStart(), index.constant(outerSteps())), k);
    if (!isInner) {
      Values inner = ks;
      inner.push_back(own);
      return contract(d + 1, inner, start, sums);
    }
    if (steps == unroll)
      fetchAhead(start);
    Value place = index.add(weights, index.mul(start, index.constant(stepElements())));
    if (shape.format().hasGroups()) { // `unroll` steps share a line
      multiplyLine(own, start, place, sums);
      return sums;
    }
    int64_t together = products.stepsTogether(inputs);
    for (int64_t i = 0; i < steps; i += together) {
      Value step = index.constant(i);
      Values inner = ks;
      inner.push_back(index.mul(index.add(own, step), index.constant(shape.group())));
      products.steps(std::min(together, steps - i), inputs, inner,
                     op.getWidened() ? op.getWidened() : op.getPanels(),
                     index.add(place, index.constant(i * stepElements())), stepElements(), sums);
    }
    return sums;
  };
  if (looped == unroll)
    sums = body(index.constant(0), unroll, sums);
  else if (looped > 0) {
    auto loop = scf::ForOp::create(builder, loc, index.constant(0), index.constant(looped),
                                   index.constant(unroll), sums);
    if (d > 0 && unroll == 1) // LLVM would unroll a short one; LinearShape::unroll says why not.
      keepRolled(loop);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Values next = body(loop.getInductionVar(), unroll, Values(loop.getRegionIterArgs()));
    scf::YieldOp::create(builder, loc, next);
    sums = Values(loop.getResults());
  }
  if (size > looped)
    sums = body(index.constant(looped), size - looped, sums);
  return sums;
}

TileEmitter::Values TileEmitter::choose(Value condition, llvm::function_ref<Values()> yes,
                                        llvm::function_ref<Values()> no) {
  auto side = [](llvm::function_ref<Values()> emit) {
    return [emit](OpBuilder &builder, Location loc) {
      Values values = emit();
      scf::YieldOp::create(builder, loc, values);
    };
  };
  return Values(
      scf::IfOp::create(builder, op.getLoc(), condition, side(yes), side(no)).getResults());
}

TileEmitter::Values TileEmitter::forColumns(llvm::function_ref<Values(int64_t)> emit) {
  int64_t last = shape.n % columns;
  if (last == 0 || shape.n < columns)
    return emit(last == 0 ? columns : last);
  Value isWhole = arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::ult,
                                        op.getColumn(), index.constant(shape.n - last));
  return choose(isWhole, [&] { return emit(columns); }, [&] { return emit(last); });
}

TileEmitter::Values TileEmitter::loadSums(int64_t count) {
  Values rowsOut = outs(), sums;
  Type sumType = products.sumType();
  Value zero = arith::ConstantOp::create(builder, op.getLoc(), builder.getZeroAttr(sumType));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < columns / lanes; ++v) {
      Value kept = v * lanes < count ? access(v, count).load(rowsOut[r]) : Value();
      sums.push_back(kept ? builder.createOrFold<arith::BitcastOp>(op.getLoc(), sumType, kept)
                          : zero);
    }
  return sums;
}

void TileEmitter::storeSums(ArrayRef<Value> sums, int64_t count) {
  int64_t vectors = columns / lanes;
  Values rowsOut = outs();
  for (int64_t v = 0; v < vectors && v * lanes < count; ++v)
    for (int64_t r = 0; r < rows; ++r)
      access(v, count).store(
          builder.createOrFold<arith::BitcastOp>(op.getLoc(), vectorType, sums[r * vectors + v]),
          rowsOut[r]);
}

LogicalResult TileEmitter::run() {
  Location loc = op.getLoc();
  int64_t size = shape.steps(0) / outerSteps(), depth = op.getDepth();
  Value panel = index.div(op.getColumn(), index.constant(shape.width));
  Value step = index.add(index.mul(panel, index.constant(shape.panelSteps())),
                         index.mul(op.getStart(), index.constant(shape.steps() / size)));
  Value within = index.rem(op.getColumn(), index.constant(shape.width));
  weights = index.mul(within, index.constant(stepWords()));
  if (!op.getWidened())
    weights = index.add(index.mul(step, index.constant(stepElements())), weights);
  if (shape.format().hasGroups()) {
    Value range = op.getQuantization()[0];
    scales = index.add(scaleOf(lineOf(step)), within);
    ranges = views().of(range, cast<MemRefType>(range.getType()).getRank() - 1);
  }
  inputs = views().of(op.getInput(), op.getInput().getType().getRank() - op.getContract());
  if (shape.format().hasGroups() && shape.ks.size() == 1)
    inputs = products.splitRows(inputs, op.getStart(), depth);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(products.sumType()));
  Values sums(rows * (columns / lanes), zero);
  auto startIs = [&](int64_t k) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, op.getStart(),
                                 index.constant(k));
  };
  auto load = [&] { return forColumns([&](int64_t count) { return loadSums(count); }); };
  bool isBroken = false; // an error has been reported
  auto finishPart = [&](bool isLastPart) {
    return forColumns([&](int64_t count) {
      if (!isLastPart)
        storeSums(sums, count);
      else if (!isBroken)
        isBroken = failed(LinearEpilogue(index, op, target)
                              .finish(sums, op.getRow(), rows, op.getColumn(), count));
      return Values();
    });
  };
  if (depth % 2 == 0 && shape.ks.size() == 1 && unroll() % 2 == 0)
    products.multiplySquares(inputs);
  if (depth < size)
    sums = choose(startIs(0), [&] { return sums; }, load);
  sums = contract(0, {}, index.constant(0), products.turned(sums, size_t(rows)));
  sums = products.turned(sums, size_t(rows));
  if (depth < size)
    choose(
        startIs(size - depth), [&] { return finishPart(true); }, [&] { return finishPart(false); });
  else
    finishPart(true);
  return failure(isBroken);
}

LogicalResult attn::vectorizeLinearTiles(Operation *root, const CpuTarget &target) {
  SmallVector<LinearTileOp> tiles;
  root->walk([&](LinearTileOp op) { tiles.push_back(op); });
  for (LinearTileOp op : tiles) {
    auto shape = LinearShape::of(op, op.getInput(), op.getPanels(), op.getPrecision(), op.getOut(),
                                 op.getContract(), target.panelWidth);
    if (failed(shape))
      return failure();
    if (op.getDepth() > static_cast<uint64_t>(shape->steps(0)))
      return op.emitOpError("expected a depth of at most ")
             << shape->steps(0) << ", but got " << op.getDepth();
    if (op.getColumns() % target.lanes != 0)
      return op.emitOpError("expected whole vectors of ")
             << target.lanes << " columns, but got " << op.getColumns();
    if (failed(TileEmitter(op, *shape, target).run()))
      return failure();
    op.erase();
  }
  vectorizeWidening(root, target);
  return success();
}
