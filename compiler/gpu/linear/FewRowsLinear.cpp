// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears of up to 8 rows, as when decoding, which take as long as their weights take to be read.
// A block of threads has 8 or 16 columns and divides k among its threads. The weights go from
// memory to registers, each once, in pieces of 16 bytes, those of the next steps while the last
// ones are multiplied; the rows lie in shared memory. Sums are added up by shuffles, then through
// shared memory, in an order that depends on sizes alone.
//
//   f32, halves  rows as f32, products by FMA units
//   int8         rows as words of four bytes, exact sums by dp4a
//   int8_groups  the same for each 16 along k, times their scale
//   int4         the same for each 32 along k: scale * (products + offset * the row's sum)
#include "compiler/gpu/linear/Linear.h"
#include "compiler/gpu/linear/LinearOutput.h"
#include "compiler/gpu/threads/TensorCores.h"
#include "compiler/kernels/Integers.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

static constexpr int64_t warpLanes = 32, warps = blockThreads / warpLanes;

/// What pairs of weights are, and lines of groups.
static Type halfOf(const LinearShape &shape, Builder &builder) {
  bool isF16 = shape.precision == Precision::F16 || shape.format().hasGroups();
  return isF16 ? Type(builder.getF16Type()) : builder.getBF16Type();
}

namespace {

class FewRowsLinear {
public:
  FewRowsLinear(LinearKernelOp op, const LinearShape &shape, const FewRowsTile &tile,
                bool isTransposed)
      : op(op), shape(shape), tile(tile), isTransposed(isTransposed && shape.format().isHalf()),
        builder(op), loc(op.getLoc()), cores(builder, loc, halfOf(shape, builder)),
        index(builder, loc), ints(builder, loc), input(cores, op.getInput()) {}

  void run(const TilingContext &context);

private:
  using Values = SmallVector<Value>;

  bool hasHalves() const { return input.elementBytes == 2; } ///< as rows
  bool hasLines() const { return shape.format().hasGroups(); }
  bool areHalfBytes() const { return shape.format().isOfHalfBytes(); }
  /// Steps that share a line.
  int64_t lineSteps() const { return scaleGroup / (FewRowsTile::stepWords * shape.group()); }
  /// Numbers of a line, of all columns of its panel.
  int64_t linePitch() const { return shape.format().lineNumbers() * panelWidth; }
  Type sumType() {
    return shape.precision == Precision::Int8 ? Type(builder.getI32Type()) : builder.getF32Type();
  }

  // Weights.
  void findColumns(Value column);
  Values readStep(Value step);
  Values readBatch(Value first, Value end);
  Value part(Value word, int64_t number);

  // Rows.
  void stageRows(Value firstStep);
  void stage(Value firstStep, int64_t count, llvm::function_ref<Values(int64_t, Value)> load);
  Values loadPiece(Value pointer, Value element);
  Value loadElement(Value row, Value element);
  Values readRow(int64_t row, Value step);
  /// Of an element in memory, which is one in shared memory, too.
  int64_t elementBytes() const { return shape.format().takesBytes() ? 4 : input.elementBytes; }

  // Sums.
  Value multiplyAdd(Value x, Value weight, Value sum);
  Values multiplyStep(ArrayRef<Value> words, Value step, Values sums);
  Values multiplyChunk(Value firstStep, llvm::function_ref<void()> stage, const Values &sums);
  void addUp(Values values);
  void finish(Value firstColumn);

  Value add(Value a, Value b);
  Value zero(Type type) {
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  }
  Value element(Value vector, int64_t i) {
    return LLVM::ExtractElementOp::create(builder, loc, vector, cores.integer(i));
  }
  /// So that what is computed from a number is not kept in registers from unit to unit.
  Value hidden(Value number) {
    Value word = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), number);
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), cores.opaque(word));
  }
  Value scaled(Value value, int64_t by) { return index.mul(value, index.constant(by)); }

  LinearKernelOp op;
  LinearShape shape;
  FewRowsTile tile;
  bool isTransposed;
  OpBuilder builder;
  Location loc;
  TensorCores cores;
  IndexBuilder index;
  Integers ints;
  GlobalRows input;
  Value rowCount, rows, partials; ///< the last two are pointers to shared memory
  Value across, down;             ///< places of this thread
  Value panels, lines;            ///< where the thread's columns begin
};

} // namespace

//===-- weights -----------------------------------------------------------------------------===//

/// Points at the weights of this thread's columns of the block's, which lie in one panel.
void FewRowsLinear::findColumns(Value first) {
  static_assert(panelWidth % 16 == 0);
  Value width = index.constant(panelWidth), panel = index.div(first, width);
  Value column = index.add(index.rem(first, width), scaled(across, FewRowsTile::stepColumns));
  Value start = scaled(panel, shape.panelSteps() * panelWidth);
  Value word = index.add(start, isTransposed ? scaled(column, shape.panelSteps()) : column);
  panels = cores.at(GlobalRows(cores, op.getPanels()).row({}), scaled(word, 4));
  if (!hasLines())
    return;
  Value line = index.add(scaled(panel, tile.steps / lineSteps() * linePitch()), column);
  lines = cores.at(GlobalRows(cores, op.getQuantization()[1]).row({}), scaled(line, 2));
}

/// The words of a step, [column][word]; of groups also two words with the columns' scales, and two
/// with their offsets where there are some.
FewRowsLinear::Values FewRowsLinear::readStep(Value step) {
  constexpr int64_t count = FewRowsTile::stepWords;
  auto four = VectorType::get({count}, builder.getI32Type());
  int64_t pitch = 4 * (isTransposed ? shape.panelSteps() : panelWidth);
  // Panels of f32 have nothing behind their last row.
  bool hasTail = shape.group() == 1 && shape.k % count != 0;
  Value first = scaled(step, count),
        place = cores.at(panels, scaled(first, isTransposed ? 4 : pitch));
  Values pieces, words;
  for (int64_t i = 0; i < count; ++i) {
    if (!hasTail) {
      pieces.push_back(cores.load(cores.at(place, i * pitch), four, /*alignment=*/16));
      continue;
    }
    Value row = index.add(first, index.constant(i));
    Value last = index.min(row, index.constant(shape.k - 1));
    Value piece = cores.load(cores.at(panels, scaled(last, pitch)), four, /*alignment=*/16);
    pieces.push_back(ints.select(ints.below(row, index.constant(shape.k)), piece, zero(four)));
  }
  for (int64_t column = 0; column < count; ++column)
    for (int64_t word = 0; word < count; ++word)
      words.push_back(isTransposed ? element(pieces[column], word) : element(pieces[word], column));
  if (hasLines()) {
    auto two = VectorType::get({2}, builder.getI32Type());
    Value number = index.div(step, index.constant(lineSteps()));
    Value line = cores.at(lines, scaled(number, 2 * linePitch()));
    for (int64_t from = 0; from < linePitch(); from += panelWidth) {
      Value pair = cores.load(cores.at(line, 2 * from), two, /*alignment=*/8);
      words.append({element(pair, 0), element(pair, 1)});
    }
  }
  return words;
}

/// The steps of a batch; the last before `end` in the place of those that come later.
FewRowsLinear::Values FewRowsLinear::readBatch(Value first, Value end) {
  Values words;
  Value last = index.sub(end, index.constant(1));
  for (int64_t i = 0; i < tile.unroll; ++i) {
    Value step = index.add(first, index.constant(i * tile.down()));
    llvm::append_range(words, readStep(index.min(step, last)));
  }
  return words;
}

/// What a part of a word is multiplied as. Weights of half bytes are 8 too large.
Value FewRowsLinear::part(Value word, int64_t number) {
  if (areHalfBytes()) {
    if (number == 1)
      word = arith::ShRUIOp::create(builder, loc, word, cores.integer(4));
    return cores.bits(word, 0x0f0f0f0f);
  }
  if (shape.format().takesBytes())
    return word;
  if (shape.format().isHalf())
    return number == 0 ? cores.even(word) : cores.odd(word);
  return LLVM::BitcastOp::create(builder, loc, builder.getF32Type(), word);
}

//===-- rows --------------------------------------------------------------------------------===//

/// Four elements in one piece, at a multiple of their size.
FewRowsLinear::Values FewRowsLinear::loadPiece(Value pointer, Value element) {
  Value from = cores.at(pointer, scaled(element, elementBytes()));
  Type type = shape.format().takesBytes() || hasHalves() ? Type(builder.getI32Type())
                                                         : builder.getF32Type();
  int64_t count = elementBytes();
  Value loaded = cores.load(from, VectorType::get({count}, type), 4 * elementBytes());
  Values elements;
  for (int64_t i = 0; i < count; ++i) {
    Value one = this->element(loaded, i);
    if (hasHalves())
      elements.append(
          {cores.unpack(one, input.element, false), cores.unpack(one, input.element, true)});
    else
      elements.push_back(one);
  }
  return elements;
}

Value FewRowsLinear::loadElement(Value row, Value element) {
  int64_t rank = cast<MemRefType>(op.getInput().getType()).getRank(),
          lifted = rank - static_cast<int64_t>(shape.ks.size());
  Values place = index.delinearize(row, op.getInput(), 0, lifted);
  bool isWord = shape.format().takesBytes();
  llvm::append_range(
      place, index.delinearize(isWord ? scaled(element, 4) : element, op.getInput(), lifted, rank));
  if (!isWord)
    return attn::loadElement(builder, loc, op.getInput(), place, 1);
  return cores.load(input.row(place), builder.getI32Type(), /*alignment=*/4);
}

/// Writes the chunk's elements of all rows to shared memory, `count` of each row at a time, with
/// zeros behind the last. `load` reads those of a row from an element on.
void FewRowsLinear::stage(Value firstStep, int64_t count,
                          llvm::function_ref<Values(int64_t, Value)> load) {
  int64_t atOnce = FewRowsTile::mostRows / tile.rows, pieces = tile.width() / count,
          elements = shape.k / (shape.format().takesBytes() ? 4 : 1);
  Value first = scaled(firstStep, FewRowsTile::stepWords * tile.parts),
        last = index.constant(elements - count);
  forLoop(index, cores.thread, index.constant(pieces), atOnce * blockThreads, [&](Value own) {
    SmallVector<Values> loaded;
    Values places, elementPlaces;
    for (int64_t i = 0; i < atOnce; ++i) {
      places.push_back(index.add(own, index.constant(i * blockThreads)));
      elementPlaces.push_back(index.add(first, scaled(places.back(), count)));
      for (int64_t row = 0; row < tile.rows; ++row)
        loaded.push_back(load(row, index.min(elementPlaces.back(), last)));
    }
    for (int64_t i = 0; i < atOnce; ++i)
      choose(index, i == 0 ? index.truth(true) : ints.below(places[i], index.constant(pieces)),
             [&] {
               Value isThere = ints.below(elementPlaces[i], index.constant(elements));
               for (int64_t row = 0; row < tile.rows; ++row) {
                 Values values = loaded[i * tile.rows + row];
                 for (Value &value : values)
                   value = ints.select(isThere, value, zero(value.getType()));
                 Value to =
                     cores.at(cores.at(rows, row * 4 * tile.width()), scaled(places[i], 4 * count));
                 cores.store(count == 1 ? values[0] : cores.vectorOf(values), to, 4 * count);
               }
             });
  });
}

void FewRowsLinear::stageRows(Value firstStep) {
  constexpr int64_t piece = 4;
  int64_t lifted =
      cast<MemRefType>(op.getInput().getType()).getRank() - static_cast<int64_t>(shape.ks.size());
  Values flat, pointers;
  Value last = index.sub(rowCount, index.constant(1));
  if (!constantIndex(last))
    last = hidden(last);
  for (int64_t row = 0; row < tile.rows; ++row) {
    flat.push_back(index.min(index.constant(row), last));
    pointers.push_back(input.row(index.delinearize(flat.back(), op.getInput(), 0, lifted)));
  }
  int64_t granule = piece * (shape.format().takesBytes() ? 4 : 1);
  Value isAligned = shape.ks.size() == 1 && shape.k % granule == 0
                        ? input.areAligned(piece * elementBytes())
                        : index.truth(false);
  choose(
      index, isAligned,
      [&] {
        stage(firstStep, piece,
              [&](int64_t row, Value element) { return loadPiece(pointers[row], element); });
      },
      [&] {
        stage(firstStep, 1,
              [&](int64_t row, Value element) { return Values{loadElement(flat[row], element)}; });
      });
}

/// What a row has for the parts of a step's words.
FewRowsLinear::Values FewRowsLinear::readRow(int64_t row, Value step) {
  constexpr int64_t count = FewRowsTile::stepWords;
  Type type = shape.format().takesBytes() ? Type(builder.getI32Type()) : builder.getF32Type();
  Value place = cores.at(rows, scaled(step, 4 * count * tile.parts));
  Values elements;
  for (int64_t piece = 0; piece < tile.parts; ++piece) {
    Value four = cores.load(cores.at(place, 4 * (row * tile.width() + piece * count)),
                            VectorType::get({count}, type), /*alignment=*/16);
    for (int64_t i = 0; i < count; ++i)
      elements.push_back(element(four, i));
  }
  return elements;
}

//===-- sums --------------------------------------------------------------------------------===//

Value FewRowsLinear::add(Value a, Value b) {
  if (sumType().isF32())
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

/// Adds one product, or four products of bytes, of which those of x are unsigned.
Value FewRowsLinear::multiplyAdd(Value x, Value weight, Value sum) {
  if (!shape.format().takesBytes())
    return math::FmaOp::create(builder, loc, x, weight, sum);
  return LLVM::CallIntrinsicOp::create(builder, loc, builder.getI32Type(),
                                       builder.getStringAttr("llvm.nvvm.idp4a.u.s"),
                                       ValueRange{x, weight, sum})
      .getResult(0);
}

/// Sums, [row][column], with a step's products; its number is that in the chunk.
FewRowsLinear::Values FewRowsLinear::multiplyStep(ArrayRef<Value> words, Value step, Values sums) {
  constexpr int64_t columns = FewRowsTile::stepColumns, count = FewRowsTile::stepWords;
  for (int64_t row = 0; row < tile.rows; ++row) {
    Values elements = readRow(row, step);
    Value shift, sixteenth; // what 8 is too much in every number; of the elements' sum
    if (areHalfBytes()) {
      Value whole = cores.integer(0);
      for (Value x : elements)
        whole = multiplyAdd(x, cores.integer(0x01010101), whole);
      shift = arith::MulIOp::create(builder, loc, whole, cores.integer(-8));
      sixteenth = arith::MulFOp::create(
          builder, loc, arith::SIToFPOp::create(builder, loc, builder.getF32Type(), whole),
          arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1.0f / 16)));
    }
    for (int64_t column = 0; column < columns; ++column) {
      Value &result = sums[row * columns + column];
      Value sum = areHalfBytes() ? shift : hasLines() ? cores.integer(0) : result;
      for (int64_t word = 0; word < count; ++word)
        for (int64_t number = 0; number < tile.parts; ++number)
          sum = multiplyAdd(elements[word * tile.parts + number],
                            part(words[column * count + word], number), sum);
      if (hasLines()) {
        auto half = [&](int64_t pair) {
          Value both = words[columns * count + pair + column / 2];
          return column % 2 == 0 ? cores.even(both) : cores.odd(both);
        };
        Value whole = arith::SIToFPOp::create(builder, loc, builder.getF32Type(), sum);
        if (shape.format().hasOffsets)
          whole = math::FmaOp::create(builder, loc, half(2), sixteenth, whole);
        sum = math::FmaOp::create(builder, loc, whole, half(0), result);
      }
      result = sum;
    }
  }
  return sums;
}

/// Adds the thread's steps of the chunk from `firstStep` on. `stage` brings its rows, while the
/// first weights are on their way.
FewRowsLinear::Values FewRowsLinear::multiplyChunk(Value firstStep,
                                                   llvm::function_ref<void()> stage,
                                                   const Values &sums) {
  int64_t batch = tile.unroll * tile.down();
  Value end =
      index.min(index.add(firstStep, index.constant(tile.chunk)), index.constant(tile.steps));
  Value own = index.add(firstStep, down);
  Values state = readBatch(own, end);
  int64_t words = static_cast<int64_t>(state.size());
  stage();
  llvm::append_range(state, sums);
  state = carryingLoop(index, tile.batches, state, [&](Value number, ValueRange state) {
    Values now(state.take_front(words)), sums(state.drop_front(words));
    Value first = index.add(own, scaled(number, batch));
    Values next = tile.batches > 1 ? readBatch(index.add(first, index.constant(batch)), end) : now;
    for (int64_t i = 0; i < tile.unroll; ++i) {
      Value step = index.add(first, index.constant(i * tile.down()));
      auto multiply = [&] {
        return multiplyStep(ArrayRef(now).slice(i * words / tile.unroll, words / tile.unroll),
                            index.sub(step, firstStep), sums);
      };
      sums = tile.isGuarded() ? chosenOr(index, ints.below(step, end), sums, multiply) : multiply();
    }
    llvm::append_range(next, sums);
    return next;
  });
  return Values(ArrayRef(state).drop_front(words));
}

/// Adds the sums of a warp's threads, [row][column], and writes them for `finish`. In each step
/// half of what a thread has goes to one with the same columns, for whose half it gives its own.
void FewRowsLinear::addUp(Values values) {
  Value first = index.constant(0), isWriter = index.truth(true), two = index.constant(2);
  auto exchanged = [&](Value value, int64_t distance) {
    return gpu::ShuffleOp::create(builder, loc, value, static_cast<int32_t>(distance),
                                  static_cast<int32_t>(warpLanes), gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  for (int64_t distance = warpLanes / 2; distance >= tile.across(); distance /= 2) {
    Value bit = index.rem(index.div(cores.lane, index.constant(distance)), two);
    Value isUpper = cores.isEqual(bit, 1);
    size_t half = values.size() / 2;
    if (half == 0) {
      values[0] = add(values[0], exchanged(values[0], distance));
      isWriter = ints.select(isUpper, index.truth(false), isWriter);
      continue;
    }
    for (size_t i = 0; i < half; ++i) {
      Value kept = ints.select(isUpper, values[half + i], values[i]),
            given = ints.select(isUpper, values[i], values[half + i]);
      values[i] = add(kept, exchanged(given, distance));
    }
    values.resize(half);
    first = index.add(first, scaled(bit, static_cast<int64_t>(half)));
  }
  choose(index, isWriter, [&] {
    Value columns = index.constant(FewRowsTile::stepColumns);
    Value warp = cores.at(partials, scaled(cores.warp, 4 * tile.rows * tile.columns));
    for (auto [i, value] : llvm::enumerate(values)) {
      Value number = index.add(first, index.constant(static_cast<int64_t>(i)));
      Value place = index.add(scaled(index.div(number, columns), tile.columns),
                              index.add(index.mul(across, columns), index.rem(number, columns)));
      cores.store(value, cores.at(warp, scaled(place, 4)), /*alignment=*/4);
    }
  });
}

/// The output of the block's columns, a thread for each element.
void FewRowsLinear::finish(Value firstColumn) {
  Value columns = index.constant(tile.columns), thread = hidden(cores.thread),
        row = index.div(thread, columns);
  choose(index, ints.below(row, rowCount), [&] {
    Value place = cores.at(partials, scaled(thread, 4)), sum;
    for (int64_t warp = 0; warp < warps; ++warp) {
      Value own = cores.load(cores.at(place, 4 * warp * tile.rows * tile.columns), sumType(),
                             /*alignment=*/4);
      sum = sum ? add(sum, own) : own;
    }
    LinearOutputRow output(op, index, row);
    output.finish(index.add(firstColumn, index.rem(thread, columns)), sum, /*isInside=*/false);
  });
}

// Blocks take neighbouring columns at the same time: they spread over the multiprocessors, however
// few there are.
void FewRowsLinear::run(const TilingContext &context) {
  rowCount = index.product(op.getOut(), 0, op.getOut().getType().getRank() - 1);
  rows = cores.dynamicSharedPointer(op->getParentOfType<gpu::GPUModuleOp>());
  partials = cores.at(rows, tile.rowBytes());
  across = index.rem(cores.thread, index.constant(tile.across()));
  down = index.div(cores.thread, index.constant(tile.across()));
  Value units = index.constant(llvm::divideCeil(shape.n, tile.columns));
  units = index.mul(units, index.min(rowCount, index.constant(1))); // there may be no row
  auto ofBlock = scf::ForOp::create(builder, loc, context.thread, units, context.threads);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(ofBlock.getBody()->getTerminator());
  Value unit = ofBlock.getInductionVar(), firstColumn = scaled(unit, tile.columns);
  findColumns(firstColumn);
  auto barrier = [&] { gpu::BarrierOp::create(builder, loc); };
  Values sums(tile.rows * FewRowsTile::stepColumns, zero(sumType()));
  sums = carryingLoop(index, tile.chunks(), sums, [&](Value chunk, ValueRange sums) {
    Value firstStep = scaled(chunk, tile.chunk);
    auto stage = [&] {
      if (tile.chunks() > 1)
        barrier(); // the rows before have been multiplied
      stageRows(firstStep);
      barrier();
    };
    return multiplyChunk(
        firstStep,
        [&] {
          if (tile.chunks() > 1)
            return stage();
          Value isFirst = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, unit,
                                                              context.thread);
          choose(index, isFirst, stage);
        },
        sums);
  });
  addUp(sums);
  barrier();
  finish(firstColumn);
  barrier(); // before the next unit's sums are written
}

LogicalResult attn::emitFewRowsLinear(LinearKernelOp op, const TilingContext &context,
                                      const FewRowsTile &tile, bool isTransposed) {
  auto shape = LinearShape::of(op, /*readsRounded=*/false);
  if (failed(shape))
    return failure();
  FewRowsLinear(op, *shape, tile, isTransposed).run(context);
  return success();
}
