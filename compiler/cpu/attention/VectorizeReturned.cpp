// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: scores, weights and the log of their sums, returned beside the
// output. Strips are [key][query], what is returned is [query][key].
#include "compiler/cpu/attention/AttentionTileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace attn;

/// Elements [0, count - from) of a vector, at most all.
static Value maskUpTo(IndexBuilder index, Value count, Value from, int64_t lanes) {
  auto type = VectorType::get({lanes}, index.builder.getI1Type());
  Value left = index.min(index.sub(count, from), index.constant(lanes));
  return vector::CreateMaskOp::create(index.builder, index.loc, type, left);
}

LogicalResult TileEmitter::emit(StoreTileOp op) {
  int64_t lanes = target.lanes;
  Value rowCount = index.dim(op.getOut(), 0);
  Value lastKey = index.sub(op.getKeys(), index.constant(1));
  forLoop(index, index.constant(0), rowCount, lanes, [&](Value row) {
    forLoop(index, index.constant(0), op.getKeys(), lanes, [&](Value key) {
      SmallVector<Value> vectors; // of keys, then of queries; keys beyond the last repeat it
      for (int64_t j = 0; j < lanes; ++j)
        vectors.push_back(load(op.getStrip(), index.min(plus(key, j), lastKey), row));
      transpose(vectors);
      Value mask = maskUpTo(index, op.getKeys(), key, lanes);
      Value column = index.add(op.getColumn(), key);
      for (int64_t i = 0; i < lanes; ++i) {
        Value at = plus(row, i);
        Value isRow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, at, rowCount);
        choose(index, isRow, [&] {
          vector::MaskedStoreOp::create(builder, loc, op.getOut(), ValueRange{at, column}, mask,
                                        vectors[i]);
        });
      }
    });
  });
  return success();
}

LogicalResult TileEmitter::emit(WeightRowsOp op) {
  int64_t lanes = target.lanes;
  Value keys = index.dim(op.getRows(), 1);
  Value none = constant(-std::numeric_limits<double>::infinity());
  forLoop(index, index.constant(0), index.dim(op.getRows(), 0), 1, [&](Value row) {
    Value maximum = broadcast(op.getStatistics(), index.constant(Maximum), row);
    auto update = [&](llvm::function_ref<Value(Value, Value)> weight) {
      forLoop(index, index.constant(0), keys, lanes, [&](Value key) {
        Value mask = maskUpTo(index, keys, key, lanes);
        Value score = vector::MaskedLoadOp::create(builder, loc, vectorType, op.getRows(),
                                                   ValueRange{row, key}, mask, none);
        vector::MaskedStoreOp::create(builder, loc, op.getRows(), ValueRange{row, key}, mask,
                                      weight(score, key));
      });
    };
    if (!op.getHard()) {
      Value sum = memref::LoadOp::create(builder, loc, op.getStatistics(),
                                         ValueRange{index.constant(Sum), row});
      Value scale = vector::BroadcastOp::create(builder, loc, vectorType, inverse(sum));
      return update([&](Value score, Value) -> Value {
        Value difference = arith::SubFOp::create(builder, loc, score, maximum);
        Value power = math::Exp2Op::create(builder, loc, difference);
        return arith::MulFOp::create(builder, loc, power, scale);
      });
    }
    Value first = firstLargest(op.getRows(), row, keys, maximum);
    update([&](Value, Value key) -> Value {
      Value isFirst =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, keyPositions(key), first);
      return arith::SelectOp::create(builder, loc, isFirst, constant(1), constant(0));
    });
  });
  return success();
}

/// Numbers of the keys from `key` on, one for each lane.
Value TileEmitter::keyPositions(Value key) {
  auto type = VectorType::get({target.lanes}, builder.getI32Type());
  SmallVector<int32_t> steps(target.lanes);
  std::iota(steps.begin(), steps.end(), 0);
  Value lanes = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
  Value narrow = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), key);
  return arith::AddIOp::create(builder, loc,
                               vector::BroadcastOp::create(builder, loc, type, narrow), lanes);
}

/// The number of the first key of a row whose score is the maximum, in all lanes; a number that no
/// key has where there is no live one.
Value TileEmitter::firstLargest(Value rows, Value row, Value keys, Value maximum) {
  auto type = VectorType::get({target.lanes}, builder.getI32Type());
  Value none = constant(-std::numeric_limits<double>::infinity());
  auto many = [&]() -> Value {
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, std::numeric_limits<int32_t>::max()));
  };
  auto loop = scf::ForOp::create(builder, loc, index.constant(0), keys,
                                 index.constant(target.lanes), ValueRange{many()});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value key = loop.getInductionVar();
    Value score = vector::MaskedLoadOp::create(builder, loc, vectorType, rows, ValueRange{row, key},
                                               maskUpTo(index, keys, key, target.lanes), none);
    Value isLargest =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, score, maximum);
    Value here = arith::SelectOp::create(builder, loc, isLargest, keyPositions(key), many());
    Value first = arith::MinSIOp::create(builder, loc, loop.getRegionIterArg(0), here);
    scf::YieldOp::create(builder, loc, first);
  }
  Value first =
      vector::ReductionOp::create(builder, loc, vector::CombiningKind::MINSI, loop.getResult(0));
  return vector::BroadcastOp::create(builder, loc, type, first);
}

/// log(sum of exp(score)) = ln 2 * (maximum + log2(sum of exp2(score - maximum))).
LogicalResult TileEmitter::emit(LseTileOp op) {
  constexpr double ln2 = 0.6931471805599453;
  Value factorRow = index.constant(Factor);
  for (int64_t lane = 0; lane < static_cast<int64_t>(op.getQueries()); lane += target.lanes) {
    Value at = index.constant(lane);
    Value maximum = load(op.getStatistics(), index.constant(Maximum), at);
    Value sum = load(op.getStatistics(), index.constant(Sum), at);
    Value log = math::LogOp::create(builder, loc, sum);
    Value scaled = arith::MulFOp::create(builder, loc, maximum, constant(ln2));
    Value lse = arith::AddFOp::create(builder, loc, scaled, log);
    store(lse, op.getStatistics(), factorRow, at);
  }
  forLoop(index, index.constant(0), index.dim(op.getOut(), 0), 1, [&](Value row) {
    Value lse =
        memref::LoadOp::create(builder, loc, op.getStatistics(), ValueRange{factorRow, row});
    memref::StoreOp::create(builder, loc, lse, op.getOut(), ValueRange{row});
  });
  return success();
}
