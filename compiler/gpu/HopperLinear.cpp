// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears in bf16 or f16 for Hopper. A block stays on its multiprocessor and takes tile after tile
// of the output. One warp group, the producer, lets the copy engine bring 64 of k at a time, rows
// and weights, to a ring of stages in shared memory; the others multiply them by wgmma, each 64
// rows, with a step's products on their way while the next are issued, and finish their sums while
// the producer fetches for the next tile. Weights are panels that were turned (attn_abi_gpu): rows
// of k for each column.
#include "compiler/cpu/LinearShape.h"
#include "compiler/gpu/Hopper.h"
#include "compiler/gpu/Kernels.h"
#include "compiler/gpu/LinearOutput.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

namespace {

/// The tile of a block and what it takes.
struct LinearTile {
  static constexpr int64_t groupRows = 64;          ///< of a warp group that multiplies
  static constexpr int64_t depth = swizzleElements; ///< of k in a stage
  static constexpr int64_t barrierBytes = boxAlignment;

  int64_t consumers; ///< warp groups that multiply
  int64_t columns;
  StageRing ring;

  int64_t rows() const { return consumers * groupRows; }
  int64_t threads() const { return (1 + consumers) * warpGroupThreads; }
  int64_t sharedBytes() const { return barrierBytes + ring.stages * ring.bytes; }

  static LinearTile of(const LinearShape &shape, bool isSmall);
};

} // namespace

/// Wide tiles read each row least often; small ones keep more multiprocessors busy, and have all of
/// k on its way at once where they can.
LinearTile LinearTile::of(const LinearShape &shape, bool isSmall) {
  LinearTile tile;
  int64_t n = llvm::alignTo(shape.n, 32);
  tile.consumers = isSmall ? 1 : 2;
  tile.columns = std::min<int64_t>(n, isSmall ? (n >= 2048 ? 64 : 32) : n >= 1024 ? 256 : 128);
  tile.ring.bytes = (tile.rows() + tile.columns) * swizzleBytes;
  int64_t steps = llvm::divideCeil(shape.k, depth);
  tile.ring.stages = std::min<int64_t>({(mostSharedBytes - barrierBytes) / tile.ring.bytes,
                                        isSmall ? 12 : 6, std::max<int64_t>(2, steps)});
  tile.ring.firstBarrier = 0, tile.ring.firstStage = barrierBytes;
  return tile;
}

namespace {

class HopperLinear {
public:
  HopperLinear(LinearKernelOp op, const LinearShape &shape, ValueRange maps, bool isSmall)
      : op(op), shape(shape), tile(LinearTile::of(shape, isSmall)), rowMap(maps[0]),
        weightMap(maps[1]), builder(op), loc(op.getLoc()), index(builder, loc),
        hopper(builder, loc, op.getInput().getType().getElementType()) {}

  void run(const TilingContext &context);

private:
  int64_t steps() const { return llvm::divideCeil(shape.k, LinearTile::depth); }
  /// body(row tile, column tile, state) for each tile of this block.
  void forEachTile(llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)> body);
  void produce();
  void consume();
  void finish(Value firstRow, Value firstColumn, ArrayRef<Value> sums);

  LinearKernelOp op;
  LinearShape shape;
  LinearTile tile;
  Value rowMap, weightMap;
  OpBuilder builder;
  Location loc;
  IndexBuilder index;
  Hopper hopper;
  Value rowCount, block, blocks;
  Value group; ///< number of the warp group
};

} // namespace

// Neighbouring blocks take neighbouring tiles at the same time, all columns of some rows first.
void HopperLinear::forEachTile(
    llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  int64_t across = llvm::divideCeil(shape.n, tile.columns);
  Value down = hopper.div(hopper.add(hopper.fromIndex(rowCount), tile.rows() - 1), tile.rows());
  Value zero = hopper.constant(0);
  hopper.loop(block, hopper.mul(down, across), blocks, {zero, zero}, // stage, parity of its use
              [&](Value unit, ValueRange state) {
                return body(hopper.div(unit, across), hopper.rem(unit, across), state);
              });
}

void HopperLinear::produce() {
  forEachTile([&](Value down, Value across, ValueRange state) {
    Value row = hopper.mul(down, tile.rows()), column = hopper.mul(across, tile.columns);
    return hopper.loop(hopper.constant(0), hopper.constant(steps()), hopper.constant(1), state,
                       [&](Value step, ValueRange state) -> SmallVector<Value> {
                         Value stage = state[0], parity = state[1];
                         // At first, the phase before the first counts as ended.
                         Value before =
                             arith::XOrIOp::create(builder, loc, parity, hopper.constant(1));
                         hopper.wait(tile.ring.emptied(hopper, stage), before);
                         Value filled = tile.ring.filled(hopper, stage),
                               memory = tile.ring.memory(hopper, stage);
                         hopper.expect(filled, tile.ring.bytes);
                         Value k = hopper.mul(step, LinearTile::depth);
                         hopper.copyBox(memory, rowMap, {k, row}, filled);
                         hopper.copyBox(hopper.add(memory, tile.rows() * swizzleBytes), weightMap,
                                        {k, column}, filled);
                         auto [next, nextParity] = tile.ring.next(hopper, stage, parity);
                         return {next, nextParity};
                       });
  });
}

void HopperLinear::consume() {
  Value consumer = hopper.add(group, -1);
  auto release = [&](Value stage) { hopper.arriveByWarp(tile.ring.emptied(hopper, stage)); };
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  size_t count = tile.columns / 2;
  forEachTile([&](Value down, Value across, ValueRange state) -> SmallVector<Value> {
    SmallVector<Value> inits{state[0], state[1], state[0]}; // and the stage before
    inits.append(count, zero);
    auto results = hopper.loop(
        hopper.constant(0), hopper.constant(steps()), hopper.constant(1), inits,
        [&](Value step, ValueRange state) -> SmallVector<Value> {
          Value stage = state[0], parity = state[1], before = state[2];
          SmallVector<Value> sums(state.drop_front(3));
          hopper.wait(tile.ring.filled(hopper, stage), parity);
          Value memory = tile.ring.memory(hopper, stage);
          Value rows = hopper.descriptor(
                    hopper.add(memory, hopper.mul(consumer, LinearTile::groupRows * swizzleBytes))),
                weights = hopper.descriptor(hopper.add(memory, tile.rows() * swizzleBytes));
          hopper.fenceProducts();
          for (int64_t k = 0; k < LinearTile::depth; k += 16)
            hopper.multiply(sums, hopper.advance(rows, 2 * k), hopper.advance(weights, 2 * k));
          hopper.commitProducts();
          hopper.waitForProducts(1);
          Value isLater = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, step,
                                                hopper.constant(0));
          hopper.when(isLater, [&] { release(before); });
          auto [next, nextParity] = tile.ring.next(hopper, stage, parity);
          SmallVector<Value> values{next, nextParity, stage};
          llvm::append_range(values, sums);
          return values;
        });
    hopper.waitForProducts(0);
    SmallVector<Value> sums(ArrayRef(results).drop_front(3));
    hopper.pin(sums);
    release(results[2]);
    Value row =
        hopper.add(hopper.mul(down, tile.rows()), hopper.mul(consumer, LinearTile::groupRows));
    finish(row, hopper.mul(across, tile.columns), sums);
    hopper.syncWarp(); // some lanes have had no row
    return {results[0], results[1]};
  });
}

void HopperLinear::finish(Value firstRow, Value firstColumn, ArrayRef<Value> sums) {
  // As fragments of mma.sync, 16 rows for each warp (PTX ISA 9.7.15.5.2).
  Value own = hopper.rem(hopper.thread, warpGroupThreads), lane = hopper.rem(own, 32),
        warp = hopper.div(own, 32);
  Value row = hopper.add(hopper.add(firstRow, hopper.mul(warp, 16)), hopper.div(lane, 4)),
        column = hopper.add(firstColumn, hopper.mul(hopper.rem(lane, 4), 2));
  bool isInside = shape.n % tile.columns == 0;
  for (int64_t r = 0; r < 2; ++r) {
    Value flat = hopper.toIndex(hopper.add(row, 8 * r));
    Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, flat, rowCount);
    choose(index, isThere, [&] {
      LinearOutputRow output(op, index, flat);
      Value first = hopper.toIndex(column);
      for (int64_t j = 0; j < tile.columns / 8; ++j)
        output.finish(index.add(first, index.constant(8 * j)), sums.slice(4 * j + 2 * r, 2),
                      isInside);
    });
  }
}

void HopperLinear::run(const TilingContext &context) {
  rowCount = index.product(op.getOut(), 0, op.getOut().getType().getRank() - 1);
  block = hopper.fromIndex(context.thread), blocks = hopper.fromIndex(context.threads);
  group = hopper.uniform(hopper.div(hopper.thread, warpGroupThreads));
  hopper.when(hopper.equals(hopper.thread, 0), [&] {
    tile.ring.init(hopper, tile.consumers * warpGroupThreads / 32);
    hopper.publishBarriers();
  });
  gpu::BarrierOp::create(builder, loc);
  // Of the 168 registers that each of 384 threads has, the producer gives most away; 256 threads
  // have as many as they can name.
  auto setRegisters = [&](int64_t count, bool increase) {
    if (tile.consumers > 1)
      hopper.setRegisters(count, increase);
  };
  hopper.when(
      hopper.equals(group, 0),
      [&] {
        setRegisters(40, /*increase=*/false);
        Value isFirstWarp = hopper.below(hopper.thread, hopper.constant(32));
        hopper.when(isFirstWarp, [&] { hopper.when(hopper.elect(), [&] { produce(); }); });
      },
      [&] {
        setRegisters(232, /*increase=*/true);
        consume();
      });
}

static FailureOr<LinearShape> shapeOf(LinearKernelOp op) { return LinearShape::of(op, gpuLane); }

bool attn::isHopperLinear(LinearKernelOp op) {
  Type element = op.getInput().getType().getElementType();
  return (element.isBF16() || element.isF16()) &&
         cast<MemRefType>(op.getInput().getType()).getRank() == 2;
}

FailureOr<SmallVector<KernelLaunch>> attn::launchHopperLinear(LinearKernelOp op,
                                                              int64_t multiprocessors) {
  auto shape = shapeOf(op);
  if (failed(shape))
    return failure();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  IndexBuilder index(builder, loc);
  // Turned panels: [columns][k], both with their padding.
  Value pointer = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, op.getPanels());
  int64_t k = 2 * shape->panelSteps(), columns = shape->panels * panelWidth;
  auto launchOf = [&](bool isSmall) {
    LinearTile tile = LinearTile::of(*shape, isSmall);
    KernelLaunch launch{tile.threads(), tile.sharedBytes(), /*blocks=*/1};
    launch.size = isSmall ? TileSize::Small : TileSize::Large;
    launch.maps.push_back(
        TensorMap::of(builder, loc, op.getInput(), {LinearTile::depth, tile.rows()}, {0, 1}));
    SmallVector<Value> words{pointer, index.constant(k), index.constant(columns),
                             index.constant(2 * k)};
    launch.maps.push_back({words, {LinearTile::depth, tile.columns}});
    return launch;
  };
  // The small ones, where large ones leave half of the multiprocessors idle.
  LinearTile large = LinearTile::of(*shape, false);
  int64_t across = llvm::divideCeil(shape->n, large.columns);
  int64_t most = std::max<int64_t>(multiprocessors / 2 / across, 1) * large.rows();
  SmallVector<KernelLaunch> launches;
  if (leastCount(op.getInput(), 0, 1) <= most) {
    launches.push_back(launchOf(true));
    launches.back().condition = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ule, index.dim(op.getInput(), 0), index.constant(most));
  }
  launches.push_back(launchOf(false));
  return launches;
}

LogicalResult attn::emitHopperLinear(LinearKernelOp op, const TilingContext &context,
                                     ValueRange maps, bool isSmall) {
  auto shape = shapeOf(op);
  if (failed(shape))
    return failure();
  HopperLinear(op, *shape, maps, isSmall).run(context);
  return success();
}
