// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One step of k to instructions, for each precision: loads of weights, repeated elements of rows,
// multiply-adds.
#include "compiler/cpu/linear/LinearProducts.h"
#include "compiler/cpu/vectors/BfloatPairs.h"
#include "compiler/kernels/MathBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

VectorType LinearProducts::sumType() const {
  OpBuilder &builder = index.builder;
  Type element = precision == Precision::Int8 ? Type(builder.getI32Type()) : builder.getF32Type();
  return VectorType::get({target.lanes}, element);
}

VectorType LinearProducts::integers() const {
  return VectorType::get({target.lanes}, index.builder.getI32Type());
}

VectorType LinearProducts::halves() const {
  return VectorType::get({2 * target.lanes}, index.builder.getI16Type());
}

Value LinearProducts::bitcast(Value vector, int64_t lanes, Type element) const {
  return vector::BitCastOp::create(index.builder, index.loc, VectorType::get({lanes}, element),
                                   vector);
}

void LinearProducts::widen(Value panels, Value place, Value widened, Value to) const {
  int64_t vectors = target.panelWidth / target.lanes;
  for (auto [v, words] : llvm::enumerate(load(panels, place, vectors)))
    for (bool isOdd : {false, true}) {
      int64_t column = (isOdd ? target.panelWidth : 0) + static_cast<int64_t>(v) * target.lanes;
      vector::StoreOp::create(index.builder, index.loc, this->widened(words, isOdd), widened,
                              index.add(to, index.constant(column)));
    }
}

LinearProducts::Values LinearProducts::load(Value panels, Value weights, size_t vectors) const {
  // Bytes that were widened are words of f32.
  Type element = cast<MemRefType>(panels.getType()).getElementType();
  bool areWords = precision == Precision::Int8 && element.isF32();
  int64_t elements = target.lanes * (areWords ? 1 : format.elementsPerWord());
  auto type = VectorType::get({elements}, element);
  Values loaded;
  for (size_t v = 0; v < vectors; ++v) {
    Value place = index.add(weights, index.constant(static_cast<int64_t>(v) * elements));
    Value words = vector::LoadOp::create(index.builder, index.loc, type, panels, place);
    loaded.push_back(areWords ? bitcast(words, 4 * target.lanes, index.builder.getI8Type())
                              : words);
  }
  return loaded;
}

Value LinearProducts::repeatedElement(Value row, ArrayRef<Value> ks, int64_t offset) const {
  SmallVector<Value> place(ks);
  place.back() = index.add(place.back(), index.constant(offset));
  Value element = memref::LoadOp::create(index.builder, index.loc, row, place);
  return vector::BroadcastOp::create(index.builder, index.loc, sumType(), element);
}

Value LinearProducts::repeatedBytes(Value row, Value k) const {
  OpBuilder &builder = index.builder;
  Type element = cast<MemRefType>(row.getType()).getElementType();
  auto bytes = VectorType::get({32 / element.getIntOrFloatBitWidth()}, element);
  Value four = vector::LoadOp::create(builder, index.loc, bytes, row, k);
  Value whole =
      vector::ExtractOp::create(builder, index.loc, bitcast(four, 1, builder.getI32Type()), 0);
  return vector::BroadcastOp::create(builder, index.loc, integers(), whole);
}

bool LinearProducts::isDense(Value row) {
  auto [strides, offset] = cast<MemRefType>(row.getType()).getStridesAndOffset();
  return strides.back() == 1;
}

Value LinearProducts::loadWords(Value row, ArrayRef<Value> ks, int64_t count) const {
  Type element = cast<MemRefType>(row.getType()).getElementType();
  auto type = VectorType::get({count * 32 / element.getIntOrFloatBitWidth()}, element);
  return bitcast(vector::LoadOp::create(index.builder, index.loc, type, row, ks), count,
                 sumType().getElementType());
}

Value LinearProducts::registerOf(Value row, ArrayRef<Value> ks, int64_t count) const {
  return target.takesWords() && isDense(row) ? loadWords(row, ks, count) : Value();
}

Value LinearProducts::repeated(Value words, Value row, ArrayRef<Value> ks, int64_t i) const {
  OpBuilder &builder = index.builder;
  if (words)
    return vector::BroadcastOp::create(
        builder, index.loc, sumType(),
        vector::ExtractOp::create(builder, index.loc, words, i).getResult());
  Type element = cast<MemRefType>(row.getType()).getElementType();
  int64_t wordElements = 32 / element.getIntOrFloatBitWidth();
  return wordElements == 1
             ? repeatedElement(row, ks, i)
             : repeatedBytes(row, index.add(ks.back(), index.constant(i * wordElements)));
}

Value LinearProducts::widened(Value words, bool isOdd) const {
  OpBuilder &builder = index.builder;
  BfloatPairs pairs(builder, index.loc, target);
  if (precision == Precision::BF16)
    return isOdd ? pairs.odd(words) : pairs.even(words);
  Value bits = bitcast(words, target.lanes, builder.getI32Type());
  if (isOdd)
    bits = MathBuilder(builder, index.loc, integers(), target).shiftRight(bits, 16);
  auto narrow = VectorType::get({target.lanes}, builder.getI16Type());
  bits = arith::TruncIOp::create(builder, index.loc, narrow, bits);
  Value halves = bitcast(bits, target.lanes, builder.getF16Type());
  return arith::ExtFOp::create(builder, index.loc, sumType(), halves);
}

Value LinearProducts::call(VectorType type, StringRef name, ValueRange operands) const {
  OpBuilder &builder = index.builder;
  return LLVM::CallIntrinsicOp::create(builder, index.loc, type, builder.getStringAttr(name),
                                       operands)
      .getResult(0);
}

void LinearProducts::multiplyPairs(ArrayRef<Value> rows, ArrayRef<Value> ks,
                                   ArrayRef<Values> weights, MutableArrayRef<Value> sums) const {
  BfloatPairs pairs(index.builder, index.loc, target);
  size_t vectors = sums.size() / rows.size();
  for (size_t r = 0; r < rows.size(); ++r) {
    Value words = registerOf(rows[r], ks, int64_t(weights.size()));
    for (auto [i, own] : llvm::enumerate(weights)) {
      Value factors = repeated(words, rows[r], ks, int64_t(i));
      for (size_t v = 0; v < vectors; ++v) {
        Value &sum = sums[r * vectors + v];
        sum = pairs.multiplyAdd(factors, own[v], sum);
      }
    }
  }
}

void LinearProducts::multiplyFloats(ArrayRef<Value> rows, ArrayRef<Value> ks,
                                    ArrayRef<Values> weights, MutableArrayRef<Value> sums) const {
  size_t vectors = sums.size() / rows.size();
  for (size_t r = 0; r < rows.size(); ++r) {
    Value words = registerOf(rows[r], ks, int64_t(weights.size()));
    for (auto [i, own] : llvm::enumerate(weights)) {
      Value factor = repeated(words, rows[r], ks, int64_t(i));
      for (size_t v = 0; v < vectors; ++v) {
        Value &sum = sums[r * vectors + v];
        sum = math::FmaOp::create(index.builder, index.loc, factor, own[v], sum);
      }
    }
  }
}

void LinearProducts::multiplySquares(ArrayRef<Value> rows) {
  bool isOfPairs = cast<MemRefType>(rows[0].getType()).getElementType().isInteger(16);
  if (rows.size() > 1 && isDense(rows[0]) && (isOfPairs || format.group() > 2))
    square = isOfPairs ? target.squarePairs : target.squareBytes;
}

Value LinearProducts::shuffled(Value a, Value b, ArrayRef<int64_t> order) const {
  return vector::ShuffleOp::create(index.builder, index.loc, a, b, order);
}

LinearProducts::Values LinearProducts::turned(ArrayRef<Value> sums, size_t rows) const {
  return format.hasGroups() ? Values(sums) : turnedSquares(sums, rows);
}

LinearProducts::Values LinearProducts::turnedSquares(ArrayRef<Value> sums, size_t rows) const {
  Values result(sums);
  size_t vectors = sums.size() / rows;
  for (size_t r = 0; !square.empty() && r + 1 < rows; r += 2)
    for (size_t v = r * vectors; v < (r + 1) * vectors; ++v) {
      result[v] = shuffled(sums[v], sums[v + vectors], {0, 1, 4, 5});
      result[v + vectors] = shuffled(sums[v], sums[v + vectors], {2, 3, 6, 7});
    }
  return result;
}

void LinearProducts::multiplySquares(ArrayRef<Value> rows, ArrayRef<Value> ks,
                                     ArrayRef<Values> weights, MutableArrayRef<Value> sums) const {
  size_t vectors = weights[0].size();
  bool isOfPairs = precision == Precision::BF16;
  Type element = isOfPairs ? Type(index.builder.getBF16Type()) : index.builder.getI8Type();
  int64_t elements = 128 / element.getIntOrFloatBitWidth();
  auto factor = [&](Value words) { return bitcast(words, elements, element); };
  auto words = [&](Value weights) {
    return bitcast(weights, target.lanes, index.builder.getI32Type());
  };
  Values columns[2]; // the first half of a vector's, the second one
  for (size_t v = 0; v < vectors; ++v) {
    Value first = words(weights[0][v]), second = words(weights[1][v]);
    columns[0].push_back(factor(shuffled(first, second, {0, 4, 1, 5})));
    columns[1].push_back(factor(shuffled(first, second, {2, 6, 3, 7})));
  }
  for (size_t r = 0; r + 1 < rows.size(); r += 2) {
    Value both =
        factor(shuffled(loadWords(rows[r], ks, 2), loadWords(rows[r + 1], ks, 2), {0, 1, 2, 3}));
    for (size_t half : {0, 1})
      for (size_t v = 0; v < vectors; ++v) {
        Value &sum = sums[(r + half) * vectors + v];
        sum = call(cast<VectorType>(sum.getType()), square, {sum, both, columns[half][v]});
      }
  }
}

void LinearProducts::multiplyBytes(ArrayRef<Value> rows, ArrayRef<Value> ks,
                                   ArrayRef<Values> weights, MutableArrayRef<Value> sums) const {
  if (target.dotBytes.empty())
    return multiplyBytesInPairs(rows, ks.back(), weights.front(), sums);
  size_t vectors = sums.size() / rows.size();
  for (size_t r = 0; r < rows.size(); ++r) {
    Value words = registerOf(rows[r], ks, int64_t(weights.size()));
    for (auto [i, own] : llvm::enumerate(weights)) {
      Value bytes = bitcast(repeated(words, rows[r], ks, int64_t(i)), 4 * target.lanes,
                            index.builder.getI8Type());
      for (size_t v = 0; v < vectors; ++v) {
        Value &sum = sums[r * vectors + v];
        sum = call(integers(), target.dotBytes,
                   target.takesWords() ? ValueRange{sum, own[v], bytes}
                                       : ValueRange{sum, bytes, own[v]});
      }
    }
  }
}

/// Bytes are multiplied as pairs of 16 bits: those at even places, then the others. Unlike
/// vpmaddubsw it saturates nothing.
void LinearProducts::multiplyBytesInPairs(ArrayRef<Value> rows, Value k, const Values &weights,
                                          MutableArrayRef<Value> sums) const {
  OpBuilder &builder = index.builder;
  int64_t lanes = target.lanes;
  size_t vectors = weights.size();
  MathBuilder math(builder, index.loc, integers(), target);
  auto shifted = [&](Value pairs, bool isLeft) -> Value {
    Value by = arith::ConstantOp::create(
        builder, index.loc, DenseElementsAttr::get(halves(), builder.getI16IntegerAttr(8)));
    if (isLeft)
      return arith::ShLIOp::create(builder, index.loc, pairs, by);
    return arith::ShRSIOp::create(builder, index.loc, pairs, by);
  };
  SmallVector<std::pair<Value, Value>> pairs; // of weights, signed
  for (Value weight : weights) {
    Value whole = bitcast(weight, 2 * lanes, builder.getI16Type());
    pairs.push_back({shifted(shifted(whole, true), false), shifted(whole, false)});
  }
  Value low = math.integer(0x00ff00ff);
  for (size_t r = 0; r < rows.size(); ++r) {
    Value bytes = repeatedBytes(rows[r], k); // unsigned
    Value even = bitcast(math.iand(bytes, low), 2 * lanes, builder.getI16Type());
    Value odd = bitcast(math.iand(math.shiftRight(bytes, 8), low), 2 * lanes, builder.getI16Type());
    for (size_t v = 0; v < vectors; ++v) {
      Value &sum = sums[r * vectors + v];
      sum = math.iadd(sum, call(integers(), target.addWords, {even, pairs[v].first}));
      sum = math.iadd(sum, call(integers(), target.addWords, {odd, pairs[v].second}));
    }
  }
}

int64_t LinearProducts::stepsTogether(ArrayRef<Value> rows) const {
  bool takesTwo =
      format.isHalf() && !cast<MemRefType>(rows[0].getType()).getElementType().isInteger(16);
  return takesTwo || !isDense(rows[0]) ? 1 : target.rowWords;
}

void LinearProducts::steps(int64_t count, ArrayRef<Value> rows, ArrayRef<Value> ks, Value panels,
                           Value weights, int64_t pitch, MutableArrayRef<Value> sums) const {
  size_t vectors = sums.size() / rows.size();
  SmallVector<Values> loaded; // [step][vector]
  for (int64_t i = 0; i < count; ++i)
    loaded.push_back(load(panels, index.add(weights, index.constant(i * pitch)), vectors));
  bool isWidened =
      format.isHalf() && !cast<MemRefType>(rows[0].getType()).getElementType().isInteger(16);
  if (!isWidened)
    return multiply(rows, ks, loaded, sums);
  Values even, odd;
  for (Value words : loaded.front())
    even.push_back(widened(words, false)), odd.push_back(widened(words, true));
  multiplyFloats(rows, ks, {even, odd}, sums);
}

void LinearProducts::multiply(ArrayRef<Value> rows, ArrayRef<Value> ks, ArrayRef<Values> weights,
                              MutableArrayRef<Value> sums) const {
  if (!square.empty()) {
    multiplySquares(rows, ks, weights, sums);
    size_t even = rows.size() / 2 * 2; // a last row is by itself
    sums = sums.drop_front(even * weights[0].size()), rows = rows.drop_front(even);
  }
  if (rows.empty())
    return;
  if (precision == Precision::F32)
    return multiplyFloats(rows, ks, weights, sums);
  if (precision == Precision::BF16)
    return multiplyPairs(rows, ks, weights, sums);
  multiplyBytes(rows, ks, weights, sums);
}
