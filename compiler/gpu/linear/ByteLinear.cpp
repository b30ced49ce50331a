// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears of rows of bytes and weights of int8, in groups or not, or int4, many rows at a time. A
// block of threads has 64 rows and a panel's 48 columns: 64 of k at a time come to shared memory,
// the next ones while these are multiplied by mma.m16n8k32, 16 rows in each warp. Sums of bytes are
// exact; those of groups, of 32 along k, are multiplied with their scale. To those of int4 comes
// before the offset times the rows' sums, which are products with ones.
//
// Fragments (PTX ISA 9.7.14.5.10), with g = lane / 4 and t = lane % 4: a thread has words t and
// t + 4 of k of rows g and g + 8, and of column g. Which four k a word holds is free: here they are
// words 2 t and 2 t + 1, the two halves of a word of int4.
#include "compiler/gpu/linear/Linear.h"
#include "compiler/gpu/linear/LinearOutput.h"
#include "compiler/gpu/threads/TensorCores.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

namespace {

/// The tile of a block in shared memory, in words of four bytes: of rows, and of a panel.
struct ByteTile {
  static constexpr int64_t rows = 64, words = 16;
  static constexpr int64_t rowPitch = words + 8; ///< so that fragments lie in different banks

  bool areHalfBytes;

  int64_t panelWords() const { return areHalfBytes ? words / 2 : words; }
  int64_t panelPitch() const { return panelWidth + (areHalfBytes ? 8 : 4); }
  int64_t rowBytes() const { return 4 * rows * rowPitch; }
  int64_t sharedBytes() const { return rowBytes() + 4 * panelWords() * panelPitch(); }
};

class ByteLinear {
public:
  ByteLinear(LinearKernelOp op, const LinearShape &shape)
      : op(op), shape(shape), areHalfBytes(shape.format().isOfHalfBytes()),
        hasLines(shape.format().hasGroups()), tile{areHalfBytes}, builder(op), loc(op.getLoc()),
        cores(builder, loc, builder.getF16Type()), index(builder, loc), input(cores, op.getInput()),
        panels(cores, op.getPanels()), lines(cores, op.getQuantization()[1]) {}

  void run(const TilingContext &context);

private:
  using Values = SmallVector<Value>;

  static constexpr int64_t columnTiles = panelWidth / 8;
  int64_t words() const { return shape.k / 4; }
  int64_t tiles() const { return llvm::divideCeil(words(), ByteTile::words); }
  Type sumType() { return hasLines ? Type(builder.getF32Type()) : builder.getI32Type(); }

  // 16 bytes of a thread each: those of rows, then those of the panel.
  static constexpr int64_t rowPieces = ByteTile::rows * ByteTile::words / 4 / blockThreads;
  int64_t panelPieces() const {
    return llvm::divideCeil(tile.panelWords() * panelWidth / 4, blockThreads);
  }
  Value ofThread(int64_t i) const {
    return index.add(cores.thread, index.constant(i * blockThreads));
  }
  Value loadRowPiece(Value row, Value word);
  Values fetch(Value panel, Value firstRow, Value number);
  void keep(ArrayRef<Value> pieces);

  Values multiply(Value panel, Value number, Values sums);
  Values product(ArrayRef<Value> a, ArrayRef<Value> b, ArrayRef<Value> sums);
  Value weights(Value word, bool isUpper);
  void block(Value panel, Value firstRow);
  void finish(Value panel, Value firstRow, ArrayRef<Value> sums);

  Value scaled(Value value, int64_t by) const { return index.mul(value, index.constant(by)); }
  Value isBelow(Value a, Value b) {
    return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, a, b);
  }
  Value zero(Type type) {
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  }
  Value loadWord(Value pointer) { return cores.load(pointer, builder.getI32Type(), 4); }
  VectorType fourWords() { return VectorType::get({4}, builder.getI32Type()); }

  LinearKernelOp op;
  LinearShape shape;
  bool areHalfBytes, hasLines;
  ByteTile tile;
  OpBuilder builder;
  Location loc;
  TensorCores cores;
  IndexBuilder index;
  GlobalRows input, panels, lines;
  Value rowCount, rows, columns; ///< the last two are pointers to shared memory
};

} // namespace

//===-- tiles -------------------------------------------------------------------------------===//

/// Four words of a row. Rows of attn.quantize_kernel begin at multiples of 64 bytes.
Value ByteLinear::loadRowPiece(Value row, Value word) {
  int64_t lifted = cast<MemRefType>(op.getInput().getType()).getRank() - 1;
  Value from =
      cores.at(input.row(index.delinearize(row, op.getInput(), 0, lifted)), scaled(word, 4));
  auto [strides, offset] = cast<MemRefType>(op.getInput().getType()).getStridesAndOffset();
  auto isAligned = [](int64_t bytes) { return !ShapedType::isDynamic(bytes) && bytes % 16 == 0; };
  if (isAligned(offset) && llvm::all_of(ArrayRef(strides).drop_back(), isAligned))
    return cores.load(from, fourWords(), /*alignment=*/16);
  Values four;
  for (int64_t i = 0; i < 4; ++i)
    four.push_back(loadWord(cores.at(from, 4 * i)));
  return cores.vectorOf(four);
}

/// Behind the last word of k panels of int8 have zeros, and there is room behind the last row
/// (attn.linear_kernel).
ByteLinear::Values ByteLinear::fetch(Value panel, Value firstRow, Value number) {
  Values pieces;
  Value lastRow = index.sub(rowCount, index.constant(1)),
        firstWord = scaled(number, ByteTile::words);
  for (int64_t i = 0; i < rowPieces; ++i) {
    Value across = index.constant(ByteTile::words / 4);
    Value row = index.add(firstRow, index.div(ofThread(i), across));
    Value word = index.add(firstWord, scaled(index.rem(ofThread(i), across), 4));
    if (!hasLines || words() % ByteTile::words == 0) {
      pieces.push_back(loadRowPiece(index.min(row, lastRow), word));
      continue;
    }
    Value last = index.constant(words() - 4);
    Value piece = loadRowPiece(index.min(row, lastRow), index.min(word, last));
    pieces.push_back(arith::SelectOp::create(builder, loc, isBelow(word, index.constant(words())),
                                             piece, zero(fourWords())));
  }
  int64_t ofPanel = shape.panelSteps() * panelWidth / 4;
  Value first = scaled(number, tile.panelWords() * panelWidth / 4);
  for (int64_t i = 0; i < panelPieces(); ++i) {
    Value piece = index.min(index.add(first, ofThread(i)), index.constant(ofPanel - 1));
    Value place = scaled(index.add(scaled(panel, ofPanel), piece), 16);
    pieces.push_back(cores.load(cores.at(panels.row({}), place), fourWords(), /*alignment=*/16));
  }
  return pieces;
}

void ByteLinear::keep(ArrayRef<Value> pieces) {
  auto put = [&](Value piece, Value to, Value number, int64_t across, int64_t pitch) {
    Value row = index.div(number, index.constant(across)),
          column = index.rem(number, index.constant(across));
    cores.store(piece, cores.at(to, index.add(scaled(row, 4 * pitch), scaled(column, 16))), 16);
  };
  for (int64_t i = 0; i < rowPieces; ++i)
    put(pieces[i], rows, ofThread(i), ByteTile::words / 4, ByteTile::rowPitch);
  int64_t count = tile.panelWords() * panelWidth / 4;
  for (int64_t i = 0; i < panelPieces(); ++i) {
    bool areAll = (i + 1) * blockThreads <= count;
    choose(index, areAll ? index.truth(true) : isBelow(ofThread(i), index.constant(count)), [&] {
      put(pieces[rowPieces + i], columns, ofThread(i), panelWidth / 4, tile.panelPitch());
    });
  }
}

//===-- products ----------------------------------------------------------------------------===//

ByteLinear::Values ByteLinear::product(ArrayRef<Value> a, ArrayRef<Value> b, ArrayRef<Value> sums) {
  Values operands(a), results;
  llvm::append_range(operands, b);
  llvm::append_range(operands, sums);
  Type i32 = builder.getI32Type();
  auto fragment = LLVM::LLVMStructType::getLiteral(op.getContext(), {i32, i32, i32, i32});
  Value whole = LLVM::CallIntrinsicOp::create(
                    builder, loc, fragment,
                    builder.getStringAttr("llvm.nvvm.mma.m16n8k32.row.col.u8.s8"), operands)
                    .getResult(0);
  for (int64_t i = 0; i < 4; ++i)
    results.push_back(LLVM::ExtractValueOp::create(builder, loc, whole, i));
  return results;
}

/// A half of a word of half bytes as four bytes: 8 less than what the bits say, without a carry.
Value ByteLinear::weights(Value word, bool isUpper) {
  if (isUpper)
    word = arith::ShRUIOp::create(builder, loc, word, cores.integer(4));
  Value shifted =
      arith::AddIOp::create(builder, loc, cores.bits(word, 0x0f0f0f0f), cores.integer(0x78787878));
  return arith::XOrIOp::create(builder, loc, shifted, cores.integer(0x80808080));
}

/// Sums of a tile's products, four of each 8 columns.
ByteLinear::Values ByteLinear::multiply(Value panel, Value number, Values sums) {
  auto pair = VectorType::get({2}, builder.getI32Type());
  Value warpRow = index.add(scaled(cores.warp, 16), cores.g);
  for (int64_t step = 0; step < ByteTile::words / 8; ++step) {
    Values a(4);
    for (int64_t half = 0; half < 2; ++half) {
      Value place = index.add(scaled(warpRow, 4 * ByteTile::rowPitch), scaled(cores.t, 8));
      Value both = cores.load(
          cores.at(cores.at(rows, place), 4 * (8 * half * ByteTile::rowPitch + 8 * step)), pair,
          /*alignment=*/8);
      for (int64_t i = 0; i < 2; ++i)
        a[2 * i + half] = LLVM::ExtractElementOp::create(builder, loc, both, cores.integer(i));
    }
    Value line;
    Values rowSums, none(4, cores.integer(0)); // sixteenths
    if (hasLines) {                            // of columns 2 t and 2 t + 1
      int64_t groups = shape.k / scaleGroup;
      Value group = index.min(index.add(scaled(number, ByteTile::words / 8), index.constant(step)),
                              index.constant(groups - 1));
      Value first = scaled(index.add(scaled(panel, groups), group),
                           shape.format().lineNumbers() * panelWidth);
      line = cores.at(lines.row({}), scaled(index.add(first, scaled(cores.t, 2)), 2));
    }
    if (shape.format().hasOffsets) {
      Values ones(2, cores.integer(0x01010101));
      for (Value sum : product(a, ones, none))
        rowSums.push_back(arith::MulFOp::create(
            builder, loc, arith::SIToFPOp::create(builder, loc, builder.getF32Type(), sum),
            arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1.0f / 16))));
    }
    Value word = scaled(cores.t, (areHalfBytes ? 1 : 2) * tile.panelPitch());
    Value place = cores.at(columns, scaled(index.add(word, cores.g), 4));
    for (int64_t n = 0; n < columnTiles; ++n) {
      auto own = MutableArrayRef(sums).slice(4 * n, 4);
      int64_t from = 4 * (step * (areHalfBytes ? 4 : 8) * tile.panelPitch() + 8 * n);
      Value even = loadWord(cores.at(place, from));
      Values b = {even, Value()};
      if (areHalfBytes)
        b = {weights(even, false), weights(even, true)};
      else
        b[1] = loadWord(cores.at(place, from + 4 * tile.panelPitch()));
      if (!hasLines) {
        llvm::copy(product(a, b, own), own.begin());
        continue;
      }
      Value scales = loadWord(cores.at(line, 16 * n)), offsets;
      if (shape.format().hasOffsets)
        offsets = loadWord(cores.at(line, 16 * n + 2 * panelWidth));
      auto half = [&](Value both, size_t i) {
        return i % 2 == 0 ? cores.even(both) : cores.odd(both);
      };
      for (auto [i, sum] : llvm::enumerate(product(a, b, none))) {
        Value whole = arith::SIToFPOp::create(builder, loc, builder.getF32Type(), sum);
        if (shape.format().hasOffsets)
          whole = math::FmaOp::create(builder, loc, half(offsets, i), rowSums[i], whole);
        own[i] = math::FmaOp::create(builder, loc, whole, half(scales, i), own[i]);
      }
    }
  }
  return sums;
}

void ByteLinear::finish(Value panel, Value firstRow, ArrayRef<Value> sums) {
  Value firstColumn = index.add(scaled(panel, panelWidth), scaled(cores.t, 2));
  Value row = index.add(index.add(firstRow, scaled(cores.warp, 16)), cores.g);
  for (int64_t r = 0; r < 2; ++r) {
    Value flat = index.add(row, index.constant(8 * r));
    choose(index, isBelow(flat, rowCount), [&] {
      LinearOutputRow output(op, index, flat);
      for (int64_t n = 0; n < columnTiles; ++n)
        output.finish(index.add(firstColumn, index.constant(8 * n)), sums.slice(4 * n + 2 * r, 2),
                      shape.n % panelWidth == 0);
    });
  }
}

void ByteLinear::block(Value panel, Value firstRow) {
  Values state = fetch(panel, firstRow, index.constant(0));
  size_t pieces = state.size();
  state.append(4 * columnTiles, zero(sumType()));
  auto loop =
      scf::ForOp::create(builder, loc, index.constant(0), index.constant(tiles()),
                         index.constant(1), state, [](OpBuilder &, Location, Value, ValueRange) {});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value number = loop.getInductionVar();
    Values own(loop.getRegionIterArgs());
    gpu::BarrierOp::create(builder, loc); // the tile before has been multiplied
    keep(ArrayRef(own).take_front(pieces));
    gpu::BarrierOp::create(builder, loc);
    Value next = index.min(index.add(number, index.constant(1)), index.constant(tiles() - 1));
    Values results = fetch(panel, firstRow, next);
    llvm::append_range(results, multiply(panel, number, Values(ArrayRef(own).drop_front(pieces))));
    scf::YieldOp::create(builder, loc, results);
  }
  finish(panel, firstRow, Values(loop.getResults().drop_front(pieces)));
}

void ByteLinear::run(const TilingContext &context) {
  rowCount = index.product(op.getOut(), 0, op.getOut().getType().getRank() - 1);
  rows = cores.dynamicSharedPointer(op->getParentOfType<gpu::GPUModuleOp>());
  columns = cores.at(rows, tile.rowBytes());
  Value down = index.ceilDiv(rowCount, index.constant(ByteTile::rows));
  auto ofBlock =
      scf::ForOp::create(builder, loc, context.thread, scaled(down, shape.panels), context.threads);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(ofBlock.getBody()->getTerminator());
  // Panel by panel, so that neighbouring blocks share weights.
  Value unit = ofBlock.getInductionVar();
  block(index.div(unit, down), scaled(index.rem(unit, down), ByteTile::rows));
}

FailureOr<KernelLaunch> attn::launchByteLinear(LinearKernelOp op) {
  auto shape = LinearShape::of(op, /*readsRounded=*/false);
  if (failed(shape))
    return failure();
  KernelLaunch launch{blockThreads, ByteTile{shape->format().isOfHalfBytes()}.sharedBytes()};
  launch.resident = shape->format().hasGroups() ? 4 : 5; // 128 or 96 registers a thread
  launch.emit = [](Operation *kernel, const TilingContext &context, ValueRange) {
    auto op = cast<LinearKernelOp>(kernel);
    auto shape = LinearShape::of(op, /*readsRounded=*/false);
    if (failed(shape))
      return failure();
    ByteLinear(op, *shape).run(context);
    return success();
  };
  return launch;
}
