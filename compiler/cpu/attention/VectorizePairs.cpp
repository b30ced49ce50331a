// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: tiles whose products are of pairs of bf16, in vectors or in tile
// registers. Words of keys and of turned values are repeated, those of queries and of weights are
// in the lanes, so that sums of both products are [..][query].
#include "compiler/cpu/attention/AttentionTiles.h"
#include "compiler/cpu/vectors/TileRegisters.h"
#include "compiler/kernels/MathBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attn {

LogicalResult vectorize(TileVectors &tile, RoundKeysTileOp op) {
  int64_t features = cast<MemRefType>(op.getKey().getType()).getDimSize(1),
          words = cast<MemRefType>(op.getRounded().getType()).getDimSize(1),
          lanes = tile.target.lanes;
  forLoop(tile.index, tile.index.constant(0), op.getKeys(), 1, [&](Value key) {
    auto read = [&](int64_t feature) {
      return feature >= features
                 ? tile.constant(0)
                 : tile.load(op.getKey(), key, tile.index.constant(feature), features - feature);
    };
    for (int64_t word = 0; word < words; word += lanes)
      tile.store(tile.pairs.neighbours(read(2 * word), read(2 * word + lanes)), op.getRounded(),
                 key, tile.index.constant(word));
  });
  return success();
}

/// Words [firstWord, firstWord + lanes) of all features; zeros for keys that are not there.
static Value turnSquare(TileVectors &tile, TurnValuesTileOp op, Value firstWord, bool isWhole,
                        Value areFinite) {
  int64_t features = cast<MemRefType>(op.getValue().getType()).getDimSize(1),
          lanes = tile.target.lanes;
  MathBuilder math(tile.builder, tile.loc, tile.vectorType, tile.target);
  Value one = tile.index.constant(1), firstKey = tile.index.mul(firstWord, tile.index.constant(2)),
        lastKey = tile.index.sub(op.getKeys(), one);
  constexpr double largest = 0x1.fep127; // of bf16
  for (int64_t feature = 0; feature < features; feature += lanes) {
    auto read = [&](int64_t offset) {
      Value key = tile.plus(firstKey, offset), row = isWhole ? key : tile.index.min(key, lastKey);
      Value value = tile.load(op.getValue(), row, tile.index.constant(feature), features - feature);
      Value isFinite =
          math.compare(arith::CmpFPredicate::OLE, math.abs(value), math.constant(largest));
      areFinite = arith::AndIOp::create(tile.builder, tile.loc, areFinite, isFinite);
      if (isWhole)
        return value;
      Value isThere = arith::CmpIOp::create(tile.builder, tile.loc, arith::CmpIPredicate::ult, key,
                                            op.getKeys());
      return arith::SelectOp::create(tile.builder, tile.loc, isThere, value, tile.constant(0))
          .getResult();
    };
    SmallVector<Value> words;
    for (int64_t word = 0; word < lanes; ++word) {
      Value even = read(2 * word), odd = read(2 * word + 1);
      words.push_back(tile.pairs.words(even, odd));
    }
    tile.transpose(words);
    for (int64_t i = 0; i < lanes; ++i)
      tile.store(words[i], op.getTurned(), tile.index.constant(feature + i), firstWord);
  }
  return areFinite;
}

LogicalResult vectorize(TileVectors &tile, TurnValuesTileOp op) {
  int64_t lanes = tile.target.lanes;
  Value width = tile.index.constant(lanes), squareKeys = tile.index.constant(2 * lanes);
  Value squares = tile.index.div(op.getKeys(), squareKeys),
        rest = tile.index.rem(op.getKeys(), squareKeys);
  auto truths = VectorType::get({lanes}, tile.builder.getI1Type());
  Value all =
      arith::ConstantOp::create(tile.builder, tile.loc, DenseElementsAttr::get(truths, true));
  Value areFinite = tile.sumLoop(squares, all, [&](Value square, MutableArrayRef<Value> finite) {
    finite[0] = turnSquare(tile, op, tile.index.mul(square, width), true, finite[0]);
  })[0];
  Value word = tile.index.mul(squares, width);
  std::optional<int64_t> left = constantIndex(rest);
  if (left && *left > 0)
    areFinite = turnSquare(tile, op, word, false, areFinite);
  if (!left) {
    Value hasRest = arith::CmpIOp::create(tile.builder, tile.loc, arith::CmpIPredicate::ne, rest,
                                          tile.index.constant(0));
    auto branch =
        scf::IfOp::create(tile.builder, tile.loc, truths, hasRest, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(tile.builder);
    tile.builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(tile.builder, tile.loc, turnSquare(tile, op, word, false, areFinite));
    tile.builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(tile.builder, tile.loc, areFinite);
    areFinite = branch.getResult(0);
  }
  Value isEach =
      vector::ReductionOp::create(tile.builder, tile.loc, vector::CombiningKind::AND, areFinite);
  op.getAreFinite().replaceAllUsesWith(isEach);
  return success();
}

/// Up to 2 x 3 registers of sums, one of `a`, one of `b`.
static void multiplyInTiles(TileVectors &tile, PairTileOp op) {
  constexpr int64_t aRegister = 6, bRegister = 7, rowBytes = 64;
  TileRegisters registers(tile.index, tile.target);
  int64_t down = llvm::divideCeil(op.getRows(), TileRegisters::rows),
          across = llvm::divideCeil(op.getQueries(), TileRegisters::rows);
  auto pitch = [](Value matrix) { // bytes
    auto [strides, offset] = cast<MemRefType>(matrix.getType()).getStridesAndOffset();
    return 4 * strides[0];
  };
  int64_t aPitch = pitch(op.getA()), bPitch = pitch(op.getB()), sumPitch = pitch(op.getSums());
  Value zero = tile.index.constant(0), aRows = registers.addressOf(op.getA(), {op.getRow(), zero}),
        bRows = registers.addressOf(op.getB(), {zero, op.getLane()}),
        sums = registers.addressOf(op.getSums(), {op.getRow(), op.getLane()});
  auto forSums = [&](llvm::function_ref<void(int64_t number, Value address)> body) {
    for (int64_t i = 0; i < down; ++i)
      for (int64_t j = 0; j < across; ++j)
        body(i * across + j,
             registers.advance(
                 sums, tile.index.constant(i * TileRegisters::rows * sumPitch + j * rowBytes)));
  };
  forSums([&](int64_t number, Value address) {
    if (op.getAccumulate())
      registers.load(number, address, sumPitch);
    else
      registers.zero(number);
  });
  Value granule = tile.index.constant(TileRegisters::rows);
  forLoop(
      tile.index, tile.index.div(op.getFrom(), granule), tile.index.ceilDiv(op.getTo(), granule), 1,
      [&](Value step) {
        Value a = registers.advance(aRows, tile.index.mul(step, tile.index.constant(rowBytes))),
              b = registers.advance(
                  bRows, tile.index.mul(step, tile.index.constant(TileRegisters::rows * bPitch)));
        for (int64_t i = 0; i < down; ++i) {
          registers.load(
              aRegister,
              registers.advance(a, tile.index.constant(i * TileRegisters::rows * aPitch)), aPitch);
          for (int64_t j = 0; j < across; ++j) {
            registers.load(bRegister, registers.advance(b, tile.index.constant(j * rowBytes)),
                           bPitch);
            registers.multiply(i * across + j, aRegister, bRegister, Precision::BF16);
          }
        }
      });
  forSums([&](int64_t number, Value address) { registers.store(number, address, sumPitch); });
}

static void multiplyInVectors(TileVectors &tile, PairTileOp op) {
  int64_t rows = op.getRows(), vectors = tile.vectorsOf(op.getQueries());
  SmallVector<Value> lanes, places, sums; // [row][vector]
  for (int64_t w = 0; w < vectors; ++w)
    lanes.push_back(tile.plus(op.getLane(), w * tile.target.lanes));
  for (int64_t i = 0; i < rows; ++i) {
    places.push_back(tile.plus(op.getRow(), i));
    for (Value lane : lanes)
      sums.push_back(op.getAccumulate() ? tile.load(op.getSums(), places[i], lane)
                                        : tile.constant(0));
  }
  auto product = [&](Value a, Value b, Value sum) {
    if (!op.getSelects())
      return tile.pairs.multiplyAdd(a, b, sum);
    auto half = [&](Value a, Value b) { // where b is not 0
      Value isLive = arith::CmpFOp::create(tile.builder, tile.loc, arith::CmpFPredicate::UNE, b,
                                           tile.constant(0));
      sum =
          arith::SelectOp::create(tile.builder, tile.loc, isLive, tile.multiplyAdd(a, b, sum), sum);
    };
    half(tile.pairs.even(a), tile.pairs.even(b));
    half(tile.pairs.odd(a), tile.pairs.odd(b));
    return sum;
  };
  auto vectorsAt = [&](Value word) {
    SmallVector<Value> factors;
    for (Value lane : lanes)
      factors.push_back(tile.load(op.getB(), word, lane));
    return factors;
  };
  auto add = [&](Value word, int64_t i, ArrayRef<Value> factors, MutableArrayRef<Value> sums) {
    Value a = tile.broadcast(op.getA(), places[i], word);
    for (int64_t w = 0; w < vectors; ++w)
      sums[i * vectors + w] = product(a, factors[w], sums[i * vectors + w]);
  };
  auto finish = [&](int64_t i, ArrayRef<Value> sums) {
    for (int64_t w = 0; w < vectors; ++w)
      tile.store(sums[i * vectors + w], op.getSums(), places[i], lanes[w]);
  };
  tile.sumProducts(op.getFrom(), op.getTo(), sums, {rows, vectorsAt, add, finish});
}

LogicalResult vectorize(TileVectors &tile, PairTileOp op) {
  if (tile.target.amx && !op.getSelects())
    multiplyInTiles(tile, op);
  else
    multiplyInVectors(tile, op);
  return success();
}

} // namespace attn
