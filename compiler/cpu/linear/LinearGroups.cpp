// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The products of weights that share a scale by 32 (LinearProducts::scaledSteps), and where a level
// multiplies bytes only by twos, their sums in 16 bits.
#include "compiler/cpu/linear/LinearProducts.h"
#include "compiler/kernels/MathBuilder.h"
#include "compiler/transforms/TargetModel.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

LinearProducts::Values LinearProducts::splitRows(ArrayRef<Value> rows, Value step, int64_t steps) {
  OpBuilder &builder = index.builder;
  Location loc = index.loc;
  constexpr int64_t mostBytes = TargetModel::l1Bytes / 2;
  int64_t lines = steps * format.group() / scaleGroup, room = 2 * lines * scaleGroup;
  isSplit = format.hasGroups() && !format.isOfHalfBytes() && !areNumbers && target.addsIn16Bits() &&
            !target.hasManyRegisters() && isDense(rows[0]) &&
            room * int64_t(rows.size()) <= mostBytes;
  if (!isSplit)
    return Values(rows);
  auto bytes = VectorType::get({scaleGroup}, builder.getI8Type()),
       words = VectorType::get({scaleGroup / 4}, builder.getI32Type());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(words, builder.getI32IntegerAttr(value)));
  };
  Values halves;
  for (size_t r = 0; r < rows.size(); ++r)
    halves.push_back(stackRoom(index, room, builder.getI8Type()));
  Value first = index.mul(step, index.constant(format.group()));
  forLoop(index, index.constant(0), index.constant(lines), 1, [&](Value line) {
    Value from = index.add(first, index.mul(line, index.constant(scaleGroup))),
          to = index.mul(line, index.constant(2 * scaleGroup));
    for (size_t r = 0; r < rows.size(); ++r) {
      Value both = vector::BitCastOp::create(
          builder, loc, words, vector::LoadOp::create(builder, loc, bytes, rows[r], from));
      auto store = [&](Value half, int64_t offset) {
        half = arith::AndIOp::create(builder, loc, half, constant(0x0f0f0f0f));
        half = vector::BitCastOp::create(builder, loc, bytes, half);
        vector::StoreOp::create(builder, loc, half, halves[r],
                                index.add(to, index.constant(offset)));
      };
      store(both, 0);
      store(arith::ShRUIOp::create(builder, loc, both, constant(4)), scaleGroup);
    }
  });
  return halves;
}

void LinearProducts::multiplyIn16Bits(ArrayRef<Value> rows, Value k, const Values &weights,
                                      MutableArrayRef<Value> sums) const {
  OpBuilder &builder = index.builder;
  size_t half = rows.size() * weights.size(); // of the sums
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t part = 0; part < (isSplit ? 2 : 1); ++part) {
      Value place = index.add(k, index.constant(part * scaleGroup)),
            bytes = bitcast(repeatedBytes(rows[r], place), 4 * target.lanes, builder.getI8Type());
      for (size_t v = 0; v < weights.size(); ++v) {
        Value &sum = sums[part * half + r * weights.size() + v];
        Value products = call(halves(), target.addBytes, {bytes, weights[v]});
        sum = arith::AddIOp::create(builder, index.loc, sum, products);
      }
    }
}

LinearProducts::Values LinearProducts::widenedSums(ArrayRef<Value> sums) const {
  OpBuilder &builder = index.builder;
  auto widened = [&](Value sum, int64_t factor) {
    Value factors = arith::ConstantOp::create(
        builder, index.loc, DenseElementsAttr::get(halves(), builder.getI16IntegerAttr(factor)));
    return call(integers(), target.addWords, {sum, factors});
  };
  MathBuilder math(builder, index.loc, integers(), target);
  Values result;
  size_t count = isSplit ? sums.size() / 2 : sums.size();
  for (size_t i = 0; i < count; ++i)
    result.push_back(isSplit ? math.iadd(widened(sums[i], 1), widened(sums[count + i], 16))
                             : widened(sums[i], 16));
  return result;
}

Value LinearProducts::loadHalves(Value halves, Value place) const {
  OpBuilder &builder = index.builder;
  auto type = VectorType::get({target.lanes}, builder.getF16Type());
  Value loaded = vector::LoadOp::create(builder, index.loc, type, halves, place);
  return arith::ExtFOp::create(builder, index.loc,
                               VectorType::get({target.lanes}, builder.getF32Type()), loaded);
}

LinearProducts::Values LinearProducts::loadNumbers(Value panels, Value place) const {
  OpBuilder &builder = index.builder;
  auto type = VectorType::get({4 * target.lanes}, builder.getI8Type());
  MathBuilder math(builder, index.loc, integers(), target);
  Value upper = math.integer(static_cast<int32_t>(0xf0f0f0f0)),
        sign = math.integer(static_cast<int32_t>(0x80808080));
  Value both = bitcast(vector::LoadOp::create(builder, index.loc, type, panels, place),
                       target.lanes, builder.getI32Type());
  if (addsIn16Bits()) {
    Value lower = math.integer(0x0f0f0f0f),
          eight = bitcast(math.integer(0x08080808), 4 * target.lanes, builder.getI8Type());
    auto small = [&](Value half) -> Value {
      Value bytes = bitcast(math.iand(half, lower), 4 * target.lanes, builder.getI8Type());
      return arith::SubIOp::create(builder, index.loc, bytes, eight);
    };
    return {small(both), small(math.shiftRight(both, 4))};
  }
  auto number = [&](Value half) -> Value {
    return arith::XOrIOp::create(builder, index.loc, math.iand(half, upper), sign);
  };
  return {number(math.shiftLeft(both, 4)), number(both)};
}

void LinearProducts::widenNumbers(Value panels, Value place, Value widened, Value to) const {
  for (int64_t column = 0; column < target.panelWidth; column += target.lanes) {
    Value own = index.add(place, index.constant(4 * column));
    for (auto [half, numbers] : llvm::enumerate(loadNumbers(panels, own))) {
      int64_t word = static_cast<int64_t>(half) * target.panelWidth + column;
      vector::StoreOp::create(index.builder, index.loc,
                              bitcast(numbers, target.lanes, index.builder.getF32Type()), widened,
                              index.add(to, index.constant(word)));
    }
  }
}

SmallVector<LinearProducts::Values>
LinearProducts::loadGroupWords(const ScaledWeights &weights, int64_t first, int64_t count,
                               ArrayRef<int64_t> columns) const {
  OpBuilder &builder = index.builder;
  // Bytes that were widened are words of f32.
  Type element = cast<MemRefType>(weights.panels.getType()).getElementType();
  int64_t wordElements = element.isF32() ? 1 : 4;
  auto bytes = VectorType::get({wordElements * target.lanes}, element);
  int64_t ofStep = format.group() / 4; // words
  SmallVector<Values> words(count);
  for (int64_t word = 0; word < count; word += ofStep)
    for (int64_t column : columns) {
      int64_t step = (first + word) / ofStep;
      Value place =
          index.add(weights.weights, index.constant(step * weights.pitch + wordElements * column));
      if (!format.isOfHalfBytes()) {
        Value loaded = vector::LoadOp::create(builder, index.loc, bytes, weights.panels, place);
        words[word].push_back(bitcast(loaded, 4 * target.lanes, builder.getI8Type()));
        continue;
      }
      for (auto [half, numbers] : llvm::enumerate(loadNumbers(weights.panels, place)))
        words[word + half].push_back(bitcast(numbers, 4 * target.lanes, builder.getI8Type()));
    }
  return words;
}

/// Of half bytes vector by vector, so that few sums of bytes are alive at a time; all vectors
/// together where words of rows stay in registers for them. Numbers that are bytes come from memory
/// as fast as they are multiplied, if each element of a row that is repeated meets all vectors.
void LinearProducts::scaledSteps(ArrayRef<Value> rows, Value k, const ScaledWeights &weights,
                                 MutableArrayRef<Value> sums) const {
  OpBuilder &builder = index.builder;
  size_t vectors = sums.size() / rows.size(),
         together = format.isOfHalfBytes() && !target.takesWords() ? 1 : vectors;
  Value zero = arith::ConstantOp::create(
      builder, index.loc, builder.getZeroAttr(addsIn16Bits() ? halves() : integers()));
  for (size_t first = 0; first < vectors; first += together) {
    SmallVector<int64_t> columns;
    for (size_t v = first; v < first + together; ++v)
      columns.push_back(static_cast<int64_t>(v) * target.lanes);
    Values products((isSplit ? 2 : 1) * rows.size() * together, zero);
    int64_t atOnce = std::max(target.rowWords, format.group() / 4);
    for (int64_t word = 0; word < scaleGroup / 4; word += atOnce) {
      SmallVector<Values> own = loadGroupWords(weights, word, atOnce, columns);
      for (int64_t i = 0; i < atOnce; i += target.rowWords) {
        Value place = index.add(k, index.constant(4 * (word + i)));
        if (addsIn16Bits())
          multiplyIn16Bits(rows, place, own[i], products);
        else
          multiply(rows, place, ArrayRef(own).slice(i, target.rowWords), products);
      }
    }
    if (addsIn16Bits())
      products = widenedSums(products);
    products = turnedSquares(products, rows.size());
    for (size_t v = 0; v < together; ++v) {
      Value line = index.add(weights.line, index.constant(columns[v]));
      Value scales = loadHalves(weights.lines, line), offsets;
      if (format.hasOffsets)
        offsets = loadHalves(weights.lines, index.add(line, index.constant(target.panelWidth)));
      for (size_t r = 0; r < rows.size(); ++r) {
        Value &sum = sums[r * vectors + first + v];
        Value product =
            arith::SIToFPOp::create(builder, index.loc, sumType(), products[r * together + v]);
        if (format.hasOffsets)
          product = math::FmaOp::create(
              builder, index.loc, offsets,
              vector::BroadcastOp::create(builder, index.loc, sumType(), weights.rowSums[r]),
              product);
        sum = math::FmaOp::create(builder, index.loc, product, scales, sum);
      }
    }
  }
}
