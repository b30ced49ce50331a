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

Value LinearProducts::bitcast(Value vector, int64_t lanes, Type element) const {
  return vector::BitCastOp::create(index.builder, index.loc, VectorType::get({lanes}, element),
                                   vector);
}

void LinearProducts::widen(Value panels, Value place, Value widened, Value to) const {
  int64_t vectors = panelWidth / target.lanes;
  for (auto [v, words] : llvm::enumerate(load(panels, place, vectors)))
    for (bool isOdd : {false, true}) {
      int64_t column = (isOdd ? panelWidth : 0) + static_cast<int64_t>(v) * target.lanes;
      vector::StoreOp::create(index.builder, index.loc, this->widened(words, isOdd), widened,
                              index.add(to, index.constant(column)));
    }
}

LinearProducts::Values LinearProducts::load(Value panels, Value weights, size_t vectors) const {
  int64_t elements = target.lanes * panelWords(precision);
  auto type = VectorType::get({elements}, cast<MemRefType>(panels.getType()).getElementType());
  Values loaded;
  for (size_t v = 0; v < vectors; ++v) {
    Value place = index.add(weights, index.constant(static_cast<int64_t>(v) * elements));
    loaded.push_back(vector::LoadOp::create(index.builder, index.loc, type, panels, place));
  }
  return loaded;
}

Value LinearProducts::repeated(Value row, ArrayRef<Value> ks, int64_t offset) const {
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

void LinearProducts::multiplyPairs(ArrayRef<Value> rows, Value k, const Values &weights,
                                   MutableArrayRef<Value> sums) const {
  BfloatPairs pairs(index.builder, index.loc, target);
  for (size_t r = 0; r < rows.size(); ++r) {
    Value factors = repeatedBytes(rows[r], k);
    for (size_t v = 0; v < weights.size(); ++v) {
      Value &sum = sums[r * weights.size() + v];
      sum = pairs.multiplyAdd(factors, weights[v], sum);
    }
  }
}

void LinearProducts::multiplyFloats(ArrayRef<Value> rows, ArrayRef<Value> ks,
                                    ArrayRef<Values> weights, MutableArrayRef<Value> sums) const {
  size_t vectors = sums.size() / rows.size();
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t i = 0; i < weights.size(); ++i) {
      Value factor = repeated(rows[r], ks, static_cast<int64_t>(i));
      for (size_t v = 0; v < vectors; ++v) {
        Value &sum = sums[r * vectors + v];
        sum = math::FmaOp::create(index.builder, index.loc, factor, weights[i][v], sum);
      }
    }
}

/// Without vpdpbusd, bytes are multiplied as pairs of 16 bits: those at even places, then the
/// others. Unlike vpmaddubsw it saturates nothing.
void LinearProducts::multiplyBytes(ArrayRef<Value> rows, Value k, ValueRange weights,
                                   MutableArrayRef<Value> sums) const {
  OpBuilder &builder = index.builder;
  int64_t lanes = target.lanes;
  size_t vectors = weights.size();
  MathBuilder math(builder, index.loc, integers(), target);
  if (target.vnni) {
    for (size_t r = 0; r < rows.size(); ++r) {
      Value bytes = bitcast(repeatedBytes(rows[r], k), 4 * lanes, builder.getI8Type());
      for (size_t v = 0; v < vectors; ++v) {
        Value &sum = sums[r * vectors + v];
        sum = call(integers(), "llvm.x86.avx512.vpdpbusd.512", {sum, bytes, weights[v]});
      }
    }
    return;
  }
  auto halves = VectorType::get({2 * lanes}, builder.getI16Type());
  auto shifted = [&](Value pairs, bool isLeft) -> Value {
    Value by = arith::ConstantOp::create(
        builder, index.loc, DenseElementsAttr::get(halves, builder.getI16IntegerAttr(8)));
    if (isLeft)
      return arith::ShLIOp::create(builder, index.loc, pairs, by);
    return arith::ShRSIOp::create(builder, index.loc, pairs, by);
  };
  SmallVector<std::pair<Value, Value>> pairs; // of weights, signed
  for (Value weight : weights) {
    Value whole = bitcast(weight, 2 * lanes, builder.getI16Type());
    pairs.push_back({shifted(shifted(whole, true), false), shifted(whole, false)});
  }
  StringRef name = target.avx512 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
  Value low = math.integer(0x00ff00ff);
  for (size_t r = 0; r < rows.size(); ++r) {
    Value bytes = repeatedBytes(rows[r], k); // unsigned
    Value even = bitcast(math.iand(bytes, low), 2 * lanes, builder.getI16Type());
    Value odd = bitcast(math.iand(math.shiftRight(bytes, 8), low), 2 * lanes, builder.getI16Type());
    for (size_t v = 0; v < vectors; ++v) {
      Value &sum = sums[r * vectors + v];
      sum = math.iadd(sum, call(integers(), name, {even, pairs[v].first}));
      sum = math.iadd(sum, call(integers(), name, {odd, pairs[v].second}));
    }
  }
}

Value LinearProducts::loadScales(Value scales, Value place) const {
  OpBuilder &builder = index.builder;
  MathBuilder math(builder, index.loc, VectorType::get({target.lanes}, builder.getF32Type()),
                   target);
  auto type = VectorType::get({target.lanes}, builder.getI16Type());
  Value upper = vector::LoadOp::create(builder, index.loc, type, scales, place);
  Value bits = arith::ExtUIOp::create(builder, index.loc, integers(), upper);
  return math.fromBits(math.shiftLeft(bits, 16));
}

/// Vector by vector, so that few sums of bytes are alive at a time.
void LinearProducts::scaledSteps(ArrayRef<Value> rows, Value k, Value panels, Value weights,
                                 int64_t pitch, Value scales, Value scale,
                                 MutableArrayRef<Value> sums) const {
  OpBuilder &builder = index.builder;
  int64_t lanes = target.lanes, bytes = 4 * lanes, group = panelGroup(precision);
  size_t vectors = sums.size() / rows.size();
  auto type = VectorType::get({bytes}, builder.getI8Type());
  MathBuilder math(builder, index.loc, integers(), target);
  Value low = math.integer(0x0f0f0f0f);
  Value eight = arith::ConstantOp::create(
      builder, index.loc, DenseElementsAttr::get(type, builder.getI8IntegerAttr(8)));
  Value zero = arith::ConstantOp::create(builder, index.loc, builder.getZeroAttr(integers()));
  for (size_t v = 0; v < vectors; ++v) {
    int64_t column = static_cast<int64_t>(v) * lanes;
    Values products(rows.size(), zero);
    for (int64_t step = 0; step < scaleGroup / group; ++step) {
      Value place = index.add(weights, index.constant(step * pitch + 4 * column));
      Value both = bitcast(vector::LoadOp::create(builder, index.loc, type, panels, place), lanes,
                           builder.getI32Type());
      Value halves[] = {math.iand(both, low), math.iand(math.shiftRight(both, 4), low)};
      for (auto [i, half] : llvm::enumerate(halves)) {
        Value weight = arith::SubIOp::create(builder, index.loc,
                                             bitcast(half, bytes, builder.getI8Type()), eight);
        Value first = index.add(k, index.constant(step * group + 4 * static_cast<int64_t>(i)));
        multiplyBytes(rows, first, weight, products);
      }
    }
    Value own = loadScales(scales, index.add(scale, index.constant(column)));
    for (size_t r = 0; r < rows.size(); ++r) {
      Value &sum = sums[r * vectors + v];
      Value product = arith::SIToFPOp::create(builder, index.loc, sumType(), products[r]);
      sum = math::FmaOp::create(builder, index.loc, product, own, sum);
    }
  }
}

void LinearProducts::step(ArrayRef<Value> rows, ArrayRef<Value> ks, Value panels, Value weights,
                          MutableArrayRef<Value> sums) const {
  Values loaded = load(panels, weights, sums.size() / rows.size());
  if (precision == Precision::Int8)
    return multiplyBytes(rows, ks.back(), loaded, sums);
  if (precision == Precision::F32)
    return multiplyFloats(rows, ks, {loaded}, sums);
  if (cast<MemRefType>(rows[0].getType()).getElementType().isInteger(16))
    return multiplyPairs(rows, ks.back(), loaded, sums);
  Values even, odd;
  for (Value words : loaded)
    even.push_back(widened(words, false)), odd.push_back(widened(words, true));
  multiplyFloats(rows, ks, {even, odd}, sums);
}
