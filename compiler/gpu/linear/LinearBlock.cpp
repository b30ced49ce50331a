// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of linears by portable instructions that all products share: sizes of tiles, copies to
// the ring of stages, the loop over k, stores; and which launches a linear gets.
#include "compiler/gpu/linear/LinearBlock.h"
#include "compiler/gpu/linear/LinearOutput.h"
#include "dialect/Reasons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

using Tile = LinearBlockTile;

/// The most panels side by side that leave few columns empty.
static int64_t panelsAcross(int64_t panels, int64_t most) {
  int64_t best = 1, least = INT64_MAX;
  for (int64_t width = std::min(most, panels); width > 0; --width) {
    int64_t padded = llvm::alignTo(panels, width);
    if (8 * padded <= 9 * panels)
      return width;
    if (padded < least && (width > 1 || panels == 1))
      best = width, least = padded;
  }
  return best;
}

// A warp of tensor cores is kept busy by 64 x 48: 28 rows of banks are read for 24 products. Wide
// tiles read rows least often; those on FMA units are busy enough to let more blocks share a
// multiprocessor. All fit into the 99 KiB that the smallest GPU gives a block.
Tile LinearBlockTile::of(const LinearShape &shape, TileSize size, bool isFma) {
  Tile tile;
  switch (size) {
  case TileSize::Large:
    tile = {64, panelWidth, panelsAcross(shape.panels, isFma ? 2 : 4), 4, 1};
    if (tile.panels == 2) // two blocks then fit where there are 100 KiB
      tile.stages = 3, tile.resident = isFma ? 2 : 3;
    break;
  case TileSize::Medium:
    tile = {32, panelWidth, panelsAcross(shape.panels, 2), 4, 3};
    break;
  case TileSize::Small:
    tile = {16, panelWidth / 2, 1, 8, 4}; // most of k is on its way at once
    break;
  }
  int64_t steps = llvm::divideCeil(shape.steps(), stepWords);
  tile.stages = std::min(tile.stages, std::max<int64_t>(2, steps + 1));
  return tile;
}

/// The dims that are contracted, outermost first; a run of elements is one.
static SmallVector<std::pair<int64_t, unsigned>> runsOf(MemRefType type, unsigned first) {
  auto [strides, offset] = type.getStridesAndOffset();
  SmallVector<std::pair<int64_t, unsigned>> runs; // size, dim whose stride it has
  for (unsigned d = first; d < type.getRank(); ++d) {
    bool continues = !runs.empty() && !ShapedType::isDynamic(strides[d]) &&
                     strides[d - 1] == strides[d] * type.getDimSize(d);
    if (continues)
      runs.back() = {runs.back().first * type.getDimSize(d), d};
    else
      runs.push_back({type.getDimSize(d), d});
  }
  return runs;
}

LinearBlock::LinearBlock(LinearKernelOp op, const LinearShape &shape, const Tile &tile)
    : op(op), shape(shape), tile(tile), builder(op), loc(op.getLoc()),
      cores(builder, loc, op.getInput().getType().getElementType()), index(builder, loc),
      ints(builder, loc), rows(cores, op.getInput()) {
  MemRefType in = op.getInput().getType();
  for (auto [size, d] : runsOf(in, in.getRank() - static_cast<unsigned>(shape.ks.size())))
    ks.push_back(size), kStrides.push_back(rows.stride(d));
  rowCount = index.product(op.getOut(), 0, op.getOut().getType().getRank() - 1);
  hasWholePieces = hasPieces() ? rows.areAligned(16) : index.truth(false);
  thread = ints.fromIndex(cores.thread);
  lane = ints.rem(thread, 32), g = ints.div(lane, 4), t = ints.rem(lane, 4);
  Value warp = ints.div(thread, 32), down = ints.constant(Tile::warpsDown);
  warpRow = ints.mul(ints.rem(warp, down), tile.warpRows);
  warpColumn = ints.mul(ints.div(warp, down), tile.warpColumns);
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  shared = cores.addressOf(cores.dynamicSharedPointer(module));
}

bool LinearBlock::hasPieces() const {
  auto innermost = constantIndex(kStrides.back());
  return innermost && *innermost == 1 && (ks.size() == 1 || ks.back() % pieceElements() == 0);
}

//===-- places ------------------------------------------------------------------------------===//

Value LinearBlock::pointer(Value address) const {
  auto type = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  return LLVM::IntToPtrOp::create(cores.builder, loc, type, address);
}

Value LinearBlock::rowPlace(Value row, Value piece) const {
  Value permuted = ints.bitXor(piece, ints.rem(ints.div(row, 2), 4));
  return ints.add(ints.mul(row, Tile::rowBytes), ints.mul(permuted, 16));
}

/// In a panel: of a word.
static Value placeInPanel(const Integers &ints, Value row, Value word) {
  Value permuted = ints.bitXor(ints.div(word, 4), ints.mul(ints.rem(ints.div(row, 2), 2), 2));
  Value inPiece = ints.add(ints.mul(permuted, 16), ints.mul(ints.rem(word, 4), 4));
  return ints.add(ints.mul(row, Tile::panelRowBytes), inPiece);
}

Value LinearBlock::panelPlace(Value row, Value column) const {
  Value first = ints.mul(ints.div(warpColumn, panelWidth), Tile::panelBytes);
  Value word = ints.add(ints.rem(warpColumn, panelWidth), column);
  return ints.add(ints.add(first, tile.rows() * Tile::rowBytes), placeInPanel(ints, row, word));
}

Value LinearBlock::bytesTo(Value k) const {
  Value elements = index.constant(0);
  for (size_t d = ks.size(); d-- > 0;) {
    Value size = ints.constant(ks[d]);
    Value place = d == 0 ? k : ints.rem(k, size);
    elements = index.add(elements, index.mul(ints.toIndex(place), kStrides[d]));
    k = ints.div(k, size);
  }
  return index.mul(elements, index.constant(rows.elementBytes));
}

//===-- copies ------------------------------------------------------------------------------===//

Value LinearBlock::rowPointer(Value row) const {
  Value table = ints.add(shared, tile.stages * tile.stageBytes());
  Value place = pointer(ints.add(table, ints.mul(row, 8)));
  return cores.load(place, LLVM::LLVMPointerType::get(builder.getContext(), 1), 8);
}

void LinearBlock::startTile(Value firstRow, Value firstPanel) {
  gpu::BarrierOp::create(builder, loc); // the tile before has been multiplied
  // Rows behind the last are copies of it: nobody stores their sums.
  int64_t lifted = op.getInput().getType().getRank() - static_cast<int64_t>(shape.ks.size());
  Value lastRow = index.sub(rowCount, index.constant(1));
  Value table = ints.add(shared, tile.stages * tile.stageBytes());
  for (int64_t i = 0; i < tile.rows(); i += tile.threads()) {
    Value row = ints.add(thread, i);
    bool isWhole = i + tile.threads() <= tile.rows();
    ints.when(isWhole ? index.truth(true) : ints.below(row, tile.rows()), [&] {
      Value flat = index.min(index.add(firstRow, ints.toIndex(row)), lastRow);
      Value from = rows.row(index.delinearize(flat, op.getInput(), 0, lifted));
      cores.store(from, pointer(ints.add(table, ints.mul(row, 8))), 8);
    });
  }
  gpu::BarrierOp::create(builder, loc);
  // Four pieces of a row for neighbouring threads.
  rowPointers.clear();
  for (int64_t i = 0; i < tile.rows(); i += tile.threads() / 4) {
    Value row = ints.add(ints.div(thread, 4), i);
    rowPointers.push_back(rowPointer(ints.min(row, ints.constant(tile.rows() - 1))));
  }
  // The last panel again where a tile has more of them than there are.
  int64_t threadsOfPanel = tile.threads() / tile.panels;
  Value panel = index.min(index.add(firstPanel, ints.toIndex(ints.div(thread, threadsOfPanel))),
                          index.constant(shape.panels - 1));
  int64_t bytes = shape.panelSteps() * Tile::panelRowBytes;
  Value own = ints.toIndex(ints.mul(ints.rem(thread, threadsOfPanel), 16));
  panelPointer = cores.at(cores.globalPointer(op.getPanels()),
                          index.add(index.mul(panel, index.constant(bytes)), own));
}

/// How many bytes of a piece of `most` are there, of `elementBytes` each, from element `k` on.
static Value bytesPresent(const Integers &ints, Value k, int64_t count, int64_t elementBytes,
                          int64_t most) {
  Value left = ints.sub(ints.constant(count), ints.min(k, ints.constant(count)));
  return ints.min(ints.mul(left, elementBytes), ints.constant(most));
}

void LinearBlock::fetchPieces(Value step, Value stage) {
  int64_t elements = Tile::stepWords * shape.group(), rowsDown = tile.threads() / 4;
  Value piece = ints.rem(thread, 4), row = ints.div(thread, 4);
  Value k = ints.add(ints.mul(step, elements), ints.mul(piece, pieceElements()));
  Value bytes = bytesTo(k);
  Value present = shape.k % elements == 0 ? ints.constant(16)
                                          : bytesPresent(ints, k, shape.k, rows.elementBytes, 16);
  // Rows are a multiple of eight apart, where pieces are permuted alike.
  Value to = ints.add(stage, rowPlace(row, piece));
  for (auto [i, from] : llvm::enumerate(rowPointers)) {
    auto first = static_cast<int64_t>(i) * rowsDown;
    bool isWhole = first + rowsDown <= tile.rows();
    ints.when(isWhole ? index.truth(true) : ints.below(row, tile.rows() - first), [&, from = from] {
      cores.copyAsync(to, first * Tile::rowBytes, cores.at(from, bytes), 0, present, 16);
    });
  }
}

Value LinearBlock::pairAt(Value global) const {
  OpBuilder &builder = cores.builder;
  Type i32 = builder.getI32Type(), i16 = builder.getI16Type();
  Value even = arith::ExtUIOp::create(builder, loc, i32, cores.load(global, i16, 2)),
        odd = arith::ExtUIOp::create(builder, loc, i32, cores.load(cores.at(global, 2), i16, 2));
  Value shifted = arith::ShLIOp::create(builder, loc, odd, ints.constant(16));
  return arith::OrIOp::create(builder, loc, even, shifted);
}

/// Word by word, 16 threads a row: asynchronously those of f32.
void LinearBlock::fetchWords(Value step, Value stage) {
  Value word = ints.rem(thread, Tile::stepWords);
  Value k = ints.mul(ints.add(ints.mul(step, Tile::stepWords), word), ints.constant(shape.group()));
  Value isThere = ints.below(k, shape.k);
  Value bytes = bytesTo(ints.min(k, ints.constant(shape.k - shape.group())));
  Value present = ints.select(isThere, ints.constant(4), ints.constant(0));
  Value rowsDown = ints.constant(tile.threads() / Tile::stepWords);
  ints.loop(ints.div(thread, Tile::stepWords), ints.constant(tile.rows()), rowsDown, {},
            [&](Value row, ValueRange) -> SmallVector<Value> {
              Value from = cores.at(rowPointer(row), bytes);
              Value to = ints.add(ints.add(stage, rowPlace(row, ints.div(word, 4))),
                                  ints.mul(ints.rem(word, 4), 4));
              if (rows.elementBytes == 4)
                cores.copyAsync(to, 0, from, 0, present, 4);
              else
                cores.store(ints.select(isThere, pairAt(from), ints.constant(0)), pointer(to), 4);
              return {};
            });
}

void LinearBlock::fetchPanels(Value step, Value stage) {
  int64_t threadsOfPanel = tile.threads() / tile.panels, across = Tile::panelRowBytes / 16,
          pieces = Tile::stepWords * across;
  Value own = ints.rem(thread, threadsOfPanel), panel = ints.div(thread, threadsOfPanel);
  Value first =
      ints.add(stage, ints.add(ints.mul(panel, Tile::panelBytes), tile.rows() * Tile::rowBytes));
  Value from =
      cores.at(panelPointer, index.mul(ints.toIndex(step), index.constant(Tile::panelBytes)));
  // Panels of 16 bits have zeros behind the last row of k, to a multiple of 16.
  bool isPadded = shape.panelSteps() % Tile::stepWords == 0;
  for (int64_t i = 0; i < pieces; i += threadsOfPanel) {
    Value piece = ints.add(own, i), row = ints.div(piece, across);
    Value to = ints.add(first, placeInPanel(ints, row, ints.mul(ints.rem(piece, across), 4)));
    Value k = ints.add(ints.mul(step, Tile::stepWords), row);
    Value present = isPadded ? ints.constant(16)
                             : ints.select(ints.below(k, shape.panelSteps()), ints.constant(16),
                                           ints.constant(0));
    bool isWhole = i + threadsOfPanel <= pieces;
    ints.when(isWhole ? index.truth(true) : ints.below(piece, pieces),
              [&] { cores.copyAsync(to, 0, from, 16 * i, present, 16); });
  }
}

void LinearBlock::fetch(Value step, Value stage) {
  ints.when(hasWholePieces, [&] { fetchPieces(step, stage); }, [&] { fetchWords(step, stage); });
  fetchPanels(step, stage);
}

//===-- tiles -------------------------------------------------------------------------------===//

SmallVector<Value> LinearBlock::sumsOfTile() {
  int64_t ahead = tile.stages - 1, bytes = tile.stageBytes();
  for (int64_t step = 0; step < ahead; ++step) {
    if (step < steps())
      fetch(ints.constant(step), ints.add(shared, step * bytes));
    cores.commitCopies();
  }
  Value end = ints.add(shared, tile.stages * bytes);
  auto next = [&](Value stage) {
    Value after = ints.add(stage, bytes);
    return ints.select(ints.below(after, end), after, shared);
  };
  SmallVector<Value> inits{shared, ints.add(shared, ahead * bytes)}; // to multiply, to fill
  inits.append(tile.warpRows * tile.warpColumns / 32, cores.number(0));
  // Of a loop that runs once, LLVM would mix the products with what follows, and spill registers.
  Value count = ints.constant(steps());
  if (steps() == 1)
    count = cores.opaque(count);
  auto results = ints.loop(
      ints.constant(0), count, ints.constant(1), inits,
      [&](Value step, ValueRange state) -> SmallVector<Value> {
        cores.waitForCopies(ahead - 1);
        gpu::BarrierOp::create(builder, loc); // all threads' copies; the step before was multiplied
        Value isThere = steps() > ahead ? ints.below(step, steps() - ahead) : index.truth(false);
        ints.when(isThere, [&] { fetch(ints.add(step, ahead), state[1]); });
        cores.commitCopies();
        SmallVector<Value> sums(state.drop_front(2));
        multiply(state[0], sums);
        SmallVector<Value> values{next(state[0]), next(state[1])};
        llvm::append_range(values, sums);
        return values;
      });
  return SmallVector<Value>(ArrayRef(results).drop_front(2));
}

void LinearBlock::finish(Value firstRow, Value firstPanel, ArrayRef<Value> sums) {
  Value panel = index.add(firstPanel, ints.toIndex(ints.div(warpColumn, panelWidth)));
  Value firstColumn = index.add(index.mul(panel, index.constant(panelWidth)),
                                ints.toIndex(ints.rem(warpColumn, panelWidth)));
  auto isBelow = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
  };
  auto finishRow = [&](int64_t row) {
    Value flat = index.add(firstRow, ints.toIndex(ints.add(ints.add(warpRow, g), row)));
    choose(index, isBelow(flat, rowCount), [&] {
      LinearOutputRow output(op, index, flat);
      ArrayRef<Value> left = sums.slice(row / 8 * tile.warpColumns / 4, tile.warpColumns / 4);
      for (Piece piece : pieces) {
        Value own = ints.toIndex(ints.mul(t, piece.width));
        Value column = index.add(index.add(firstColumn, own), index.constant(piece.first));
        output.finish(column, left.take_front(piece.width), shape.n % panelWidth == 0);
        left = left.drop_front(piece.width);
      }
    });
  };
  choose(index, isBelow(panel, index.constant(shape.panels)), [&] {
    for (int64_t row = 0; row < tile.warpRows; row += 8)
      finishRow(row);
  });
}

// Neighbouring blocks take neighbouring tiles at the same time: eight down, then the next column.
void LinearBlock::run(const TilingContext &context) {
  constexpr int64_t groupTiles = 8;
  int64_t across = llvm::divideCeil(shape.panels, tile.panels);
  Value down = ints.div(ints.add(ints.fromIndex(rowCount), tile.rows() - 1), tile.rows());
  ints.loop(ints.fromIndex(context.thread), ints.mul(down, across), ints.fromIndex(context.threads),
            {}, [&](Value unit, ValueRange) -> SmallVector<Value> {
              Value inGroup = ints.rem(unit, groupTiles * across),
                    first = ints.mul(ints.div(unit, groupTiles * across), groupTiles),
                    height = ints.min(ints.sub(down, first), ints.constant(groupTiles));
              Value row = ints.mul(ints.add(first, ints.rem(inGroup, height)), tile.rows()),
                    panel = ints.mul(ints.div(inGroup, height), tile.panels);
              Value firstRow = ints.toIndex(row), firstPanel = ints.toIndex(panel);
              startTile(firstRow, firstPanel);
              finish(firstRow, firstPanel, inOrder(sumsOfTile()));
              return {};
            });
}

//===-- launches ----------------------------------------------------------------------------===//

static StringRef suffixOf(TileSize size) {
  return size == TileSize::Small ? ".small" : size == TileSize::Medium ? ".medium" : "";
}

KernelLaunches attn::launchLinearBlocks(LinearKernelOp op, const LaunchOptions &options) {
  auto shape = LinearShape::of(op, /*readsRounded=*/false);
  if (failed(shape))
    return failure();
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  int64_t rowDims = op.getOut().getType().getRank() - 1;
  Value rows = index.product(op.getOut(), 0, rowDims);
  SmallVector<KernelLaunch> launches;
  bool isOnFma = shape->precision == Precision::F32;
  if (isOnFma)
    missed(op, Reason::NoTensorCores,
           "this linear map does not run on tensor cores: its products are of f32",
           "`--precision=tf32`, `bf16` or `f16` multiplies on them", options.target.name);
  auto launchOf = [&](TileSize size) {
    Tile tile = Tile::of(*shape, size, isOnFma);
    KernelLaunch launch{tile.threads(), tile.sharedBytes()};
    launch.resident = tile.resident;
    launch.suffix = suffixOf(size).str();
    launch.emit = [size, isOnFma](Operation *kernel, const TilingContext &context, ValueRange) {
      auto op = cast<LinearKernelOp>(kernel);
      auto shape = LinearShape::of(op, /*readsRounded=*/false);
      if (failed(shape))
        return failure();
      isOnFma ? emitFmaLinear(op, *shape, context, size)
              : emitTensorCoreLinear(op, *shape, context, size);
      return success();
    };
    return launch;
  };
  // The same where tiles of the next size would be fewer than `least`.
  auto launchWhere = [&](TileSize size, TileSize next, int64_t least) {
    Tile larger = Tile::of(*shape, next, isOnFma);
    int64_t across = llvm::divideCeil(shape->panels, larger.panels);
    int64_t most = (llvm::divideCeil(least, across) - 1) * larger.rows();
    if (leastCount(op.getOut(), 0, rowDims) > most)
      return;
    launches.push_back(launchOf(size));
    launches.back().condition = builder.createOrFold<arith::CmpIOp>(
        op.getLoc(), arith::CmpIPredicate::ule, rows, index.constant(most));
  };
  launchWhere(TileSize::Small, TileSize::Medium, llvm::divideCeil(options.multiprocessors, 2));
  launchWhere(TileSize::Medium, TileSize::Large, options.multiprocessors);
  launches.push_back(launchOf(TileSize::Large));
  return launches;
}
