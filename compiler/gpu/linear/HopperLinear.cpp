// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears in bf16 or f16 for Hopper. A block stays on its multiprocessor and takes tile after tile
// of the output. One warp group, the producer, lets the copy engine bring 64 of k at a time, rows
// and weights, to a ring of stages in shared memory; the others multiply them by wgmma, each 64
// rows, with a step's products on their way while the next are issued, and finish their sums while
// the producer fetches for the next tile. Weights are transposed panels (attn_abi_gpu): a row
// of k for each column.
#include "compiler/gpu/linear/HopperLinearTile.h"
#include "compiler/gpu/linear/Linear.h"
#include "compiler/gpu/linear/LinearOutput.h"
#include "compiler/gpu/threads/TensorCores.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

namespace {

class HopperLinear {
public:
  HopperLinear(LinearKernelOp op, const HopperLinearTile &tile, int64_t multiprocessors,
               ValueRange maps)
      : op(op), tile(tile), ring(tile.ring()), multiprocessors(multiprocessors), rowMap(maps[0]),
        weightMap(maps[1]), outMap(tile.storesBoxes ? maps[2] : Value()), builder(op),
        loc(op.getLoc()), index(builder, loc),
        hopper(builder, loc, op.getInput().getType().getElementType()) {}

  void run(const TilingContext &context);

private:
  /// body(row tile, column tile, state) for each tile of this block.
  void forEachTile(llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)> body);
  void produce();
  void consume();
  void finish(Value firstRow, Value firstColumn, ArrayRef<Value> sums);
  void finishByBoxes(Value firstRow, Value firstColumn, ArrayRef<Value> sums);

  LinearKernelOp op;
  HopperLinearTile tile;
  StageRing ring;
  int64_t multiprocessors;
  Value rowMap, weightMap, outMap;
  OpBuilder builder;
  Location loc;
  IndexBuilder index;
  Hopper hopper;
  Value rowCount, block, blocks;
  Value group; ///< number of the warp group
};

} // namespace

// Neighbouring blocks take neighbouring tiles at the same time, those of a section side by side,
// and all rows of it first.
void HopperLinear::forEachTile(
    llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  int64_t across = tile.across(), width = tile.sectionWidth(multiprocessors);
  Value down = hopper.div(hopper.add(hopper.fromIndex(rowCount), tile.rows() - 1), tile.rows());
  Value zero = hopper.constant(0);
  hopper.loop(
      block, hopper.mul(down, across), blocks, {zero, zero}, // stage, parity of its use
      [&](Value unit, ValueRange state) {
        if (width == across)
          return body(hopper.div(unit, across), hopper.rem(unit, across), state);
        Value section = hopper.div(unit, hopper.mul(down, width));
        Value first = hopper.mul(section, width),
              inside = hopper.sub(unit, hopper.mul(first, down)),
              own = across % width == 0 ? hopper.constant(width)
                                        : hopper.min(hopper.constant(width),
                                                     hopper.sub(hopper.constant(across), first));
        return body(hopper.div(inside, own), hopper.add(first, hopper.rem(inside, own)), state);
      });
}

void HopperLinear::produce() {
  forEachTile([&](Value down, Value across, ValueRange state) {
    Value row = hopper.mul(down, tile.rows()), column = hopper.mul(across, tile.columns);
    return hopper.loop(hopper.constant(0), hopper.constant(tile.steps), hopper.constant(1), state,
                       [&](Value step, ValueRange state) -> SmallVector<Value> {
                         Value stage = state[0], parity = state[1];
                         // At first, the phase before the first counts as ended.
                         Value before =
                             arith::XOrIOp::create(builder, loc, parity, hopper.constant(1));
                         hopper.wait(ring.emptied(hopper, stage), before, "free stage");
                         Value filled = ring.filled(hopper, stage),
                               memory = ring.memory(hopper, stage);
                         hopper.expect(filled, ring.bytes);
                         Value k = hopper.mul(step, HopperLinearTile::depth);
                         hopper.copyBox(memory, rowMap, {k, row}, filled);
                         hopper.copyBox(hopper.add(memory, tile.rows() * swizzleBytes), weightMap,
                                        {k, column}, filled);
                         auto [next, nextParity] = ring.next(hopper, stage, parity);
                         return {next, nextParity};
                       });
  });
}

void HopperLinear::consume() {
  Value consumer = hopper.add(group, -1);
  auto release = [&](Value stage) { hopper.arriveByWarp(ring.emptied(hopper, stage)); };
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  size_t count = tile.columns / 2;
  forEachTile([&](Value down, Value across, ValueRange state) -> SmallVector<Value> {
    SmallVector<Value> inits{state[0], state[1], state[0]}; // and the stage before
    inits.append(count, zero);
    auto results = hopper.loop(
        hopper.constant(0), hopper.constant(tile.steps), hopper.constant(1), inits,
        [&](Value step, ValueRange state) -> SmallVector<Value> {
          Value stage = state[0], parity = state[1], before = state[2];
          SmallVector<Value> sums(state.drop_front(3));
          hopper.wait(ring.filled(hopper, stage), parity, "stage");
          Value memory = ring.memory(hopper, stage);
          Value rows = hopper.descriptor(hopper.add(
                    memory, hopper.mul(consumer, HopperLinearTile::groupRows * swizzleBytes))),
                weights = hopper.descriptor(hopper.add(memory, tile.rows() * swizzleBytes));
          hopper.fenceProducts();
          for (int64_t k = 0; k < HopperLinearTile::depth; k += 16)
            hopper.multiply(sums, hopper.advance(rows, 2 * k), hopper.advance(weights, 2 * k));
          hopper.commitProducts();
          hopper.waitForProducts(1);
          Value isLater = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, step,
                                                hopper.constant(0));
          hopper.when(isLater, [&] { release(before); });
          auto [next, nextParity] = ring.next(hopper, stage, parity);
          SmallVector<Value> values{next, nextParity, stage};
          llvm::append_range(values, sums);
          return values;
        });
    hopper.waitForProducts(0);
    SmallVector<Value> sums(ArrayRef(results).drop_front(3));
    hopper.pin(sums);
    release(results[2]);
    Value row = hopper.add(hopper.mul(down, tile.rows()),
                           hopper.mul(consumer, HopperLinearTile::groupRows));
    if (tile.storesBoxes)
      finishByBoxes(row, hopper.mul(across, tile.columns), sums);
    else
      finish(row, hopper.mul(across, tile.columns), sums);
    hopper.syncWarp(); // some lanes have had no row
    return {results[0], results[1]};
  });
  if (tile.storesBoxes)
    hopper.when(hopper.equals(hopper.rem(hopper.thread, warpGroupThreads), 0),
                [&] { hopper.waitForStores(0); });
}

// Words of 64 columns go to shared memory by stmatrix, where a box has them: chunk c of row r is at
// c ^ r % 8. One thread of the group then has the copy engine take them, while the next 64 columns
// are computed. Rows behind the last are computed as that one, and are outside of the tensor.
void HopperLinear::finishByBoxes(Value firstRow, Value firstColumn, ArrayRef<Value> sums) {
  TensorCores cores(builder, loc, op.getInput().getType().getElementType());
  Value consumer = hopper.add(group, -1), barrier = hopper.add(consumer, 1);
  Value own = hopper.rem(hopper.thread, warpGroupThreads), lane = hopper.rem(own, 32),
        warp = hopper.div(own, 32), isFirst = hopper.equals(own, 0);
  Value top = hopper.mul(warp, 16), row = hopper.add(top, hopper.div(lane, 4)),
        column = hopper.add(firstColumn, hopper.mul(hopper.rem(lane, 4), 2));
  SmallVector<LinearOutputRow> outputs;
  Value last = index.sub(rowCount, index.constant(1));
  for (int64_t r = 0; r < 2; ++r)
    outputs.emplace_back(
        op, index, index.min(hopper.toIndex(hopper.add(hopper.add(firstRow, row), 8 * r)), last));
  // What stmatrix needs: the lane's row, and which of two neighbouring chunks.
  Value matrix = hopper.div(lane, 8), inMatrix = hopper.rem(lane, 8);
  Value storeRow = hopper.add(hopper.add(top, hopper.mul(hopper.rem(matrix, 2), 8)), inMatrix),
        chunk = hopper.div(matrix, 2);
  Value boxes = hopper.add(hopper.add(hopper.sharedBase, tile.firstStore()),
                           hopper.mul(consumer, 2 * HopperLinearTile::boxBytes));
  int64_t count = tile.columns / swizzleElements;
  for (int64_t box = 0; box < count; ++box) {
    Value memory = hopper.add(boxes, box % 2 * HopperLinearTile::boxBytes);
    // What was there before is read: the box before the last, or, where boxes are odd, the last.
    hopper.when(isFirst, [&] { hopper.waitForStores(box == 0 && count % 2 != 0 ? 0 : 1); });
    hopper.syncNamed(barrier, warpGroupThreads);
    for (int64_t pair = 0; pair < 4; ++pair) { // of 8 columns each
      SmallVector<Value> words;
      for (int64_t c = 0; c < 2; ++c)
        for (int64_t r = 0; r < 2; ++r) {
          int64_t j = 8 * box + 2 * pair + c;
          SmallVector<Value> two = outputs[r].finished(hopper.toIndex(hopper.add(column, 8 * j)),
                                                       sums.slice(4 * j + 2 * r, 2));
          words.push_back(cores.word(two[0], two[1]));
        }
      Value at = arith::XOrIOp::create(builder, loc, hopper.add(chunk, 2 * pair), inMatrix);
      hopper.storeMatrices(
          hopper.add(hopper.add(memory, hopper.mul(storeRow, swizzleBytes)), hopper.mul(at, 16)),
          words);
    }
    hopper.fenceStores();
    hopper.syncNamed(barrier, warpGroupThreads);
    hopper.when(isFirst, [&] {
      hopper.storeBox(memory, outMap, {hopper.add(firstColumn, box * swizzleElements), firstRow});
    });
  }
}

void HopperLinear::finish(Value firstRow, Value firstColumn, ArrayRef<Value> sums) {
  // As fragments of mma.sync, 16 rows for each warp (PTX ISA 9.7.15.5.2).
  Value own = hopper.rem(hopper.thread, warpGroupThreads), lane = hopper.rem(own, 32),
        warp = hopper.div(own, 32);
  Value row = hopper.add(hopper.add(firstRow, hopper.mul(warp, 16)), hopper.div(lane, 4)),
        column = hopper.add(firstColumn, hopper.mul(hopper.rem(lane, 4), 2));
  bool isInside = tile.n % tile.columns == 0;
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
    ring.init(hopper, tile.consumers * warpGroupThreads / 32);
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

bool attn::isHopperLinear(LinearKernelOp op) {
  Type element = op.getInput().getType().getElementType();
  return (element.isBF16() || element.isF16()) &&
         cast<MemRefType>(op.getInput().getType()).getRank() == 2;
}

/// Whether the output can be stored by boxes: of halves, rows of all its leading dims at one
/// distance, which is of whole pieces of 16 bytes.
static bool hasBoxes(LinearKernelOp op) {
  MemRefType type = op.getOut().getType();
  auto [strides, offset] = type.getStridesAndOffset();
  for (int64_t d = 0; d + 2 < type.getRank(); ++d)
    if (ShapedType::isDynamic(strides[d]) || ShapedType::isDynamic(type.getDimSize(d + 1)) ||
        strides[d] != strides[d + 1] * type.getDimSize(d + 1))
      return false;
  return type.getElementType() == op.getInput().getType().getElementType() && type.getRank() >= 2 &&
         op.getQuantization().empty() && neighboursIn(op.getOut()) == 8;
}

/// The output as a matrix, in boxes of 64 rows and columns.
static TensorMap outMapOf(OpBuilder &builder, LinearKernelOp op) {
  Location loc = op.getLoc();
  IndexBuilder index(builder, loc);
  MemRefType type = op.getOut().getType();
  auto [strides, offset] = type.getStridesAndOffset();
  auto parts = memref::ExtractStridedMetadataOp::create(builder, loc, op.getOut());
  Value pointer = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, op.getOut());
  Value start = ShapedType::isDynamic(offset) ? parts.getOffset() : index.constant(offset);
  int64_t rank = type.getRank();
  TensorMap map;
  map.words = {index.add(pointer, index.mul(start, index.constant(2))),
               index.constant(type.getDimSize(rank - 1)), index.product(op.getOut(), 0, rank - 1),
               index.constant(2 * strides[rank - 2])};
  map.box = {swizzleElements, HopperLinearTile::groupRows};
  return map;
}

KernelLaunches attn::launchHopperLinear(LinearKernelOp op, const LaunchOptions &options) {
  int64_t multiprocessors = options.multiprocessors;
  auto shape = LinearShape::of(op, /*readsRounded=*/false);
  if (failed(shape))
    return failure();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  IndexBuilder index(builder, loc);
  // Transposed panels: [columns][k], both with their padding.
  Value pointer = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, op.getPanels());
  int64_t k = 2 * shape->panelSteps(), columns = shape->panels * panelWidth;
  auto launchOf = [&](const HopperLinearTile &tile) {
    KernelLaunch launch{tile.threads(), tile.sharedBytes(), /*blocks=*/1};
    launch.suffix = "." + tile.name();
    launch.emit = [tile, multiprocessors](Operation *kernel, const TilingContext &context,
                                          ValueRange maps) {
      HopperLinear(cast<LinearKernelOp>(kernel), tile, multiprocessors, maps).run(context);
      return success();
    };
    launch.maps.push_back(
        TensorMap::of(builder, loc, op.getInput(), {HopperLinearTile::depth, tile.rows()}, {0, 1}));
    SmallVector<Value> words{pointer, index.constant(k), index.constant(columns),
                             index.constant(2 * k)};
    launch.maps.push_back({words, {HopperLinearTile::depth, tile.columns}});
    if (tile.storesBoxes)
      launch.maps.push_back(outMapOf(builder, op));
    return launch;
  };
  std::vector<HopperLinearTile> tiles = HopperLinearTile::all(*shape);
  Value rows = index.dim(op.getInput(), 0);
  if (std::optional<int64_t> known = constantIndex(rows))
    tiles = {HopperLinearTile::best(tiles, *known, multiprocessors)};
  bool canStoreBoxes = options.bulkStores && hasBoxes(op);
  for (HopperLinearTile &tile : tiles)
    tile.storesBoxes =
        canStoreBoxes && tile.columns % swizzleElements == 0 && tile.n % tile.columns == 0;
  // Each where none of those behind it costs less.
  SmallVector<KernelLaunch> launches;
  for (auto [i, tile] : llvm::enumerate(tiles)) {
    launches.push_back(launchOf(tile));
    Value own = tile.cycles(index, rows, multiprocessors);
    for (const HopperLinearTile &other : ArrayRef(tiles).drop_front(i + 1)) {
      Value isLess = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, own,
                                           other.cycles(index, rows, multiprocessors));
      Value &condition = launches.back().condition;
      condition = condition ? arith::AndIOp::create(builder, loc, condition, isLess) : isLess;
    }
  }
  return launches;
}
