// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: tiles whose products are of pairs of bf16, in vectors or in tile
// registers. Words of keys and of turned values are repeated, those of queries and of weights are
// in the lanes, so that sums of both products are [..][query].
#include "compiler/cpu/attention/AttentionTileEmitter.h"
#include "compiler/cpu/vectors/TileRegisters.h"
#include "compiler/kernels/MathBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

LogicalResult TileEmitter::emit(RoundKeysTileOp op) {
  int64_t features = cast<MemRefType>(op.getKey().getType()).getDimSize(1),
          words = cast<MemRefType>(op.getRounded().getType()).getDimSize(1), lanes = target.lanes;
  forLoop(index, index.constant(0), op.getKeys(), 1, [&](Value key) {
    auto read = [&](int64_t feature) {
      return feature >= features
                 ? constant(0)
                 : load(op.getKey(), key, index.constant(feature), features - feature);
    };
    for (int64_t word = 0; word < words; word += lanes)
      store(pairs.neighbours(read(2 * word), read(2 * word + lanes)), op.getRounded(), key,
            index.constant(word));
  });
  return success();
}

/// Words [firstWord, firstWord + lanes) of all features; zeros for keys that are not there.
Value TileEmitter::turnSquare(TurnValuesTileOp op, Value firstWord, bool isWhole, Value areFinite) {
  int64_t features = cast<MemRefType>(op.getValue().getType()).getDimSize(1), lanes = target.lanes;
  MathBuilder math(builder, loc, vectorType, target);
  Value one = index.constant(1), firstKey = index.mul(firstWord, index.constant(2)),
        lastKey = index.sub(op.getKeys(), one);
  constexpr double largest = 0x1.fep127; // of bf16
  for (int64_t feature = 0; feature < features; feature += lanes) {
    auto read = [&](int64_t offset) {
      Value key = plus(firstKey, offset), row = isWhole ? key : index.min(key, lastKey);
      Value value = load(op.getValue(), row, index.constant(feature), features - feature);
      Value isFinite =
          math.compare(arith::CmpFPredicate::OLE, math.abs(value), math.constant(largest));
      areFinite = arith::AndIOp::create(builder, loc, areFinite, isFinite);
      if (isWhole)
        return value;
      Value isThere =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, key, op.getKeys());
      return arith::SelectOp::create(builder, loc, isThere, value, constant(0)).getResult();
    };
    SmallVector<Value> words;
    for (int64_t word = 0; word < lanes; ++word) {
      Value even = read(2 * word), odd = read(2 * word + 1);
      words.push_back(pairs.words(even, odd));
    }
    transpose(words);
    for (int64_t i = 0; i < lanes; ++i)
      store(words[i], op.getTurned(), index.constant(feature + i), firstWord);
  }
  return areFinite;
}

LogicalResult TileEmitter::emit(TurnValuesTileOp op) {
  int64_t lanes = target.lanes;
  Value width = index.constant(lanes), squareKeys = index.constant(2 * lanes);
  Value squares = index.div(op.getKeys(), squareKeys), rest = index.rem(op.getKeys(), squareKeys);
  auto truths = VectorType::get({lanes}, builder.getI1Type());
  Value all = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(truths, true));
  Value areFinite = sumLoop(squares, all, [&](Value square, MutableArrayRef<Value> finite) {
    finite[0] = turnSquare(op, index.mul(square, width), true, finite[0]);
  })[0];
  Value word = index.mul(squares, width);
  std::optional<int64_t> left = constantIndex(rest);
  if (left && *left > 0)
    areFinite = turnSquare(op, word, false, areFinite);
  if (!left) {
    Value hasRest =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, rest, index.constant(0));
    auto branch = scf::IfOp::create(builder, loc, truths, hasRest, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc, turnSquare(op, word, false, areFinite));
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, areFinite);
    areFinite = branch.getResult(0);
  }
  Value isEach = vector::ReductionOp::create(builder, loc, vector::CombiningKind::AND, areFinite);
  op.getAreFinite().replaceAllUsesWith(isEach);
  return success();
}

//===-- products ----------------------------------------------------------------------------===//

LogicalResult TileEmitter::emit(PairTileOp op) {
  if (target.amx && !op.getSelects())
    multiplyInTiles(op);
  else
    multiplyInVectors(op);
  return success();
}

/// Up to 2 x 3 registers of sums, one of `a`, one of `b`.
void TileEmitter::multiplyInTiles(PairTileOp op) {
  constexpr int64_t aRegister = 6, bRegister = 7, rowBytes = 64;
  TileRegisters registers(index, target);
  int64_t down = llvm::divideCeil(op.getRows(), TileRegisters::rows),
          across = llvm::divideCeil(op.getQueries(), TileRegisters::rows);
  auto pitch = [](Value matrix) { // bytes
    auto [strides, offset] = cast<MemRefType>(matrix.getType()).getStridesAndOffset();
    return 4 * strides[0];
  };
  int64_t aPitch = pitch(op.getA()), bPitch = pitch(op.getB()), sumPitch = pitch(op.getSums());
  Value zero = index.constant(0), aRows = registers.addressOf(op.getA(), {op.getRow(), zero}),
        bRows = registers.addressOf(op.getB(), {zero, op.getLane()}),
        sums = registers.addressOf(op.getSums(), {op.getRow(), op.getLane()});
  auto forSums = [&](llvm::function_ref<void(int64_t number, Value address)> body) {
    for (int64_t i = 0; i < down; ++i)
      for (int64_t j = 0; j < across; ++j)
        body(i * across + j,
             registers.advance(sums,
                               index.constant(i * TileRegisters::rows * sumPitch + j * rowBytes)));
  };
  forSums([&](int64_t number, Value address) {
    if (op.getAccumulate())
      registers.load(number, address, sumPitch);
    else
      registers.zero(number);
  });
  Value granule = index.constant(TileRegisters::rows);
  forLoop(index, index.div(op.getFrom(), granule), index.ceilDiv(op.getTo(), granule), 1,
          [&](Value step) {
            Value a = registers.advance(aRows, index.mul(step, index.constant(rowBytes))),
                  b = registers.advance(
                      bRows, index.mul(step, index.constant(TileRegisters::rows * bPitch)));
            for (int64_t i = 0; i < down; ++i) {
              registers.load(aRegister,
                             registers.advance(a, index.constant(i * TileRegisters::rows * aPitch)),
                             aPitch);
              for (int64_t j = 0; j < across; ++j) {
                registers.load(bRegister, registers.advance(b, index.constant(j * rowBytes)),
                               bPitch);
                registers.multiply(i * across + j, aRegister, bRegister, Precision::BF16);
              }
            }
          });
  forSums([&](int64_t number, Value address) { registers.store(number, address, sumPitch); });
}

void TileEmitter::multiplyInVectors(PairTileOp op) {
  int64_t rows = op.getRows(), vectors = vectorsOf(op.getQueries());
  SmallVector<Value> lanes, places, sums; // [row][vector]
  for (int64_t w = 0; w < vectors; ++w)
    lanes.push_back(plus(op.getLane(), w * target.lanes));
  for (int64_t i = 0; i < rows; ++i) {
    places.push_back(plus(op.getRow(), i));
    for (Value lane : lanes)
      sums.push_back(op.getAccumulate() ? load(op.getSums(), places[i], lane) : constant(0));
  }
  auto product = [&](Value a, Value b, Value sum) {
    if (!op.getSelects())
      return pairs.multiplyAdd(a, b, sum);
    auto half = [&](Value a, Value b) { // where b is not 0
      Value isLive = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, b, constant(0));
      sum = arith::SelectOp::create(builder, loc, isLive, multiplyAdd(a, b, sum), sum);
    };
    half(pairs.even(a), pairs.even(b));
    half(pairs.odd(a), pairs.odd(b));
    return sum;
  };
  auto vectorsAt = [&](Value word) {
    SmallVector<Value> factors;
    for (Value lane : lanes)
      factors.push_back(load(op.getB(), word, lane));
    return factors;
  };
  auto add = [&](Value word, int64_t i, ArrayRef<Value> factors, MutableArrayRef<Value> sums) {
    Value a = broadcast(op.getA(), places[i], word);
    for (int64_t w = 0; w < vectors; ++w)
      sums[i * vectors + w] = product(a, factors[w], sums[i * vectors + w]);
  };
  auto finish = [&](int64_t i, ArrayRef<Value> sums) {
    for (int64_t w = 0; w < vectors; ++w)
      store(sums[i * vectors + w], op.getSums(), places[i], lanes[w]);
  };
  sumProducts(op.getFrom(), op.getTo(), sums, {rows, vectorsAt, add, finish});
}

//===-- sums ----------------------------------------------------------------------===//

/// Squares of sums, [feature][query], turned back into rows. Queries beyond the output's rows are
/// none.
void TileEmitter::emitTurned(OutputTileOp op) {
  int64_t columns = cast<MemRefType>(op.getOut().getType()).getDimSize(1), lanes = target.lanes;
  Value count = index.dim(op.getOut(), 0);
  for (int64_t query = 0; query < static_cast<int64_t>(*op.getTurned()); query += lanes) {
    Value lane = index.constant(query), scale;
    if (op.getNormalise()) {
      Value sum = load(op.getStatistics(), index.constant(Sum), lane);
      Value isZero =
          arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, sum, constant(0));
      Value quotient = arith::DivFOp::create(builder, loc, constant(1), sum);
      scale = arith::SelectOp::create(builder, loc, isZero, constant(0), quotient);
    }
    for (int64_t column = 0; column < columns; column += lanes) {
      SmallVector<Value> square;
      for (int64_t i = 0; i < lanes; ++i) {
        Value sum = load(op.getSums(), index.constant(column + i), lane);
        square.push_back(scale ? arith::MulFOp::create(builder, loc, sum, scale) : sum);
      }
      transpose(square);
      for (int64_t i = 0; i < lanes; ++i) {
        Value row = plus(lane, i);
        Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, row, count);
        choose(index, isThere, [&] {
          store(square[i], op.getOut(), row, index.constant(column), columns - column);
        });
      }
    }
  }
}
