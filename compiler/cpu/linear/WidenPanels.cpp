// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of panels in a wider form, for many rows: of 16 bits as f32, of half bytes as bytes with
// the same scales, of groups as int8 with a scale for a column. A number becomes the byte (number *
// f + p + 128) >> 8 in 16 bits (abi.h).
#include "compiler/cpu/linear/Linear.h"
#include "compiler/cpu/linear/LinearProducts.h"
#include "compiler/kernels/MathBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace attn;

static void emit(WidenTileOp op, const CpuTarget &target) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  bool isF16 = getElementTypeOrSelf(op.getPanels().getType()).isF16();
  LinearProducts products(index, target, isF16 ? Precision::F16 : Precision::BF16);
  int64_t steps = op.getSteps(), width = target.panelWidth;
  forLoop(index, index.constant(0), index.constant(steps), 1, [&](Value step) {
    Value place = index.mul(step, index.constant(2 * width));
    products.widen(op.getPanels(), index.add(op.getFrom(), place), op.getWidened(), place);
  });
  op.erase();
}

static void emit(WidenNumbersTileOp op, const CpuTarget &target) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  LinearProducts products(index, target, Precision::Int4Groups);
  const WeightFormat &format = formatOf(Precision::Int4Groups);
  Value steps = index.mul(op.getGroups(), index.constant(scaleGroup / format.group()));
  forLoop(index, index.constant(0), steps, 1, [&](Value step) {
    Value from = index.mul(step, index.constant(format.elementsPerWord() * target.panelWidth)),
          to = index.mul(step, index.constant(2 * target.panelWidth));
    products.widenNumbers(op.getPanels(), index.add(op.getFrom(), from), op.getWidened(), to);
  });
  op.erase();
}

namespace {

/// Writes the code of one attn.widen_bytes_tile before it.
class BytesEmitter {
public:
  BytesEmitter(WidenBytesTileOp op, const CpuTarget &target)
      : op(op), format(formatOf(op.getPrecision())), lanes(target.lanes), width(target.panelWidth),
        builder(op), loc(op.getLoc()), index(builder, loc),
        floats(VectorType::get({lanes}, builder.getF32Type())),
        pairs(VectorType::get({2 * lanes}, builder.getI16Type())),
        math(builder, loc, floats, target) {}

  void run();

private:
  /// What codes of a line are multiplied with, and what is added then, in both 16 bits of a lane.
  struct Line {
    Value factor, shift;
  };
  Line lineAt(Value place, Value inverse);
  /// The codes at even or odd bytes of words, of half bytes of their lower or upper ones.
  Value codes(Value words, bool isOdd, bool isUpper);
  /// The bytes of these codes, four in a lane.
  Value bytes(Value words, bool isUpper, const Line &line);
  void widen(Value group, int64_t column, Value inverse);
  void storeZeros();

  Value load(Value buffer, Value place, VectorType type) {
    return vector::LoadOp::create(builder, loc, type, buffer, place);
  }
  void store(Value words, Value step, int64_t column) {
    Value place = index.add(index.mul(step, index.constant(width)), index.constant(column));
    vector::StoreOp::create(builder, loc, cast(words, floats), op.getWidened(), place);
  }
  Value cast(Value vector, VectorType type) {
    return vector::BitCastOp::create(builder, loc, type, vector);
  }
  Value sixteen(int64_t value) {
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(pairs, builder.getI16IntegerAttr(value)));
  }
  /// The low 16 bits of each lane's integer, twice.
  Value doubled(Value integers) {
    Value low = math.iand(integers, math.integer(0xffff));
    return cast(math.ior(low, math.shiftLeft(integers, 16)), pairs);
  }
  Value bitsOfWhole(Value x) { return math.bits(math.add(x, math.constant(magic))); }

  /// 1.5 * 2^23: behind a sum with it, the low 16 bits are those of the whole number next to x.
  static constexpr double magic = 12582912.0;
  static constexpr int64_t wordsOfLine = scaleGroup / 4;

  WidenBytesTileOp op;
  const WeightFormat &format;
  int64_t lanes, width; ///< of a vector, of a panel
  OpBuilder builder;
  Location loc;
  IndexBuilder index;
  VectorType floats, pairs;
  MathBuilder math;
};

} // namespace

BytesEmitter::Line BytesEmitter::lineAt(Value place, Value inverse) {
  auto halves = VectorType::get({lanes}, builder.getF16Type());
  auto at = [&](int64_t offset) -> Value {
    Value loaded = load(op.getLines(), index.add(place, index.constant(offset)), halves);
    return arith::ExtFOp::create(builder, loc, floats, loaded);
  };
  Value factor = math.mul(at(0), inverse);
  Line line{doubled(bitsOfWhole(factor)), sixteen(128)};
  Value offset, over;
  if (format.hasOffsets)
    offset = math.mul(factor, math.mul(at(width), math.constant(1.0 / 16)));
  if (format.isOfHalfBytes()) // whose codes are 8 more than numbers
    over = arith::MulIOp::create(builder, loc, line.factor, sixteen(8));
  if (offset)
    line.shift = doubled(math.iadd(bitsOfWhole(offset), math.integer(128)));
  if (over)
    line.shift = arith::SubIOp::create(builder, loc, line.shift, over);
  return line;
}

Value BytesEmitter::codes(Value words, bool isOdd, bool isUpper) {
  if (!format.isOfHalfBytes()) { // with their sign
    Value upper = isOdd ? words : Value(arith::ShLIOp::create(builder, loc, words, sixteen(8)));
    return arith::ShRSIOp::create(builder, loc, upper, sixteen(8));
  }
  int64_t first = (isOdd ? 8 : 0) + (isUpper ? 4 : 0);
  if (first > 0)
    words = arith::ShRUIOp::create(builder, loc, words, sixteen(first));
  return first < 12 ? Value(arith::AndIOp::create(builder, loc, words, sixteen(15))) : words;
}

Value BytesEmitter::bytes(Value words, bool isUpper, const Line &line) {
  auto product = [&](bool isOdd) -> Value {
    Value scaled = arith::MulIOp::create(builder, loc, codes(words, isOdd, isUpper), line.factor);
    return arith::AddIOp::create(builder, loc, scaled, line.shift);
  };
  Value even = arith::ShRUIOp::create(builder, loc, product(false), sixteen(8)),
        odd = arith::AndIOp::create(builder, loc, product(true), sixteen(int16_t(0xff00)));
  return arith::OrIOp::create(builder, loc, even, odd);
}

/// A line's weights of a vector of columns.
void BytesEmitter::widen(Value group, int64_t column, Value inverse) {
  Value pitch = index.constant(format.lineNumbers() * width);
  Value place = index.add(index.mul(group, pitch), index.constant(column));
  Line line = lineAt(index.add(op.getLine(), place), inverse);
  int64_t ofStep = format.group() / 4, steps = wordsOfLine / ofStep;
  Value first = index.mul(group, index.constant(steps));
  for (int64_t i = 0; i < steps; ++i) {
    Value step = index.add(first, index.constant(i));
    Value from = index.add(index.mul(step, index.constant(4 * width)), index.constant(4 * column));
    auto type = VectorType::get({4 * lanes}, builder.getI8Type());
    Value words = cast(load(op.getPanels(), index.add(op.getFrom(), from), type), pairs);
    Value to = index.mul(step, index.constant(ofStep));
    for (int64_t half = 0; half < ofStep; ++half)
      store(bytes(words, half == 1, line), index.add(to, index.constant(half)), column);
  }
}

void BytesEmitter::storeZeros() {
  Value first = index.mul(op.getGroups(), index.constant(wordsOfLine));
  for (int64_t i = 0; i < wordsOfLine; ++i)
    for (int64_t column = 0; column < width; column += lanes)
      store(math.integer(0), index.add(first, index.constant(i)), column);
}

void BytesEmitter::run() {
  SmallVector<Value> inverses;
  for (int64_t column = 0; column < width; column += lanes) {
    Value scales = load(op.getScales(), index.add(op.getColumn(), index.constant(column)), floats);
    Value isNone = math.compare(arith::CmpFPredicate::OEQ, scales, math.constant(0));
    inverses.push_back(math.select(isNone, math.constant(0), math.div(math.constant(256), scales)));
  }
  forLoop(index, index.constant(0), op.getGroups(), 1, [&](Value group) {
    for (auto [v, inverse] : llvm::enumerate(inverses))
      widen(group, static_cast<int64_t>(v) * lanes, inverse);
  });
  if (op.getPadded())
    storeZeros();
  op.erase();
}

void attn::vectorizeWidening(Operation *root, const CpuTarget &target) {
  root->walk([&](WidenTileOp op) { emit(op, target); });
  root->walk([&](WidenNumbersTileOp op) { emit(op, target); });
  root->walk([&](WidenBytesTileOp op) { BytesEmitter(op, target).run(); });
}
