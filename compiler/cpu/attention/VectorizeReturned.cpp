// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: scores, weights and the log of their sums, returned beside the
// output. Strips are [key][query], what is returned is [query][key].
#include "compiler/cpu/attention/AttentionTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>
#include <numeric>

using namespace mlir;

namespace attn {

/// Elements [0, count - from) of a vector, at most all.
static Value maskUpTo(IndexBuilder index, Value count, Value from, int64_t lanes) {
  auto type = VectorType::get({lanes}, index.builder.getI1Type());
  Value left = index.min(index.sub(count, from), index.constant(lanes));
  return vector::CreateMaskOp::create(index.builder, index.loc, type, left);
}

LogicalResult vectorize(TileVectors &tile, StoreTileOp op) {
  int64_t lanes = tile.target.lanes;
  Value rowCount = tile.index.dim(op.getOut(), 0);
  Value lastKey = tile.index.sub(op.getKeys(), tile.index.constant(1));
  forLoop(tile.index, tile.index.constant(0), rowCount, lanes, [&](Value row) {
    forLoop(tile.index, tile.index.constant(0), op.getKeys(), lanes, [&](Value key) {
      SmallVector<Value> vectors; // of keys, then of queries; keys beyond the last repeat it
      for (int64_t j = 0; j < lanes; ++j)
        vectors.push_back(
            tile.load(op.getStrip(), tile.index.min(tile.plus(key, j), lastKey), row));
      tile.transpose(vectors);
      Value mask = maskUpTo(tile.index, op.getKeys(), key, lanes);
      Value column = tile.index.add(op.getColumn(), key);
      for (int64_t i = 0; i < lanes; ++i) {
        Value at = tile.plus(row, i);
        Value isRow =
            arith::CmpIOp::create(tile.builder, tile.loc, arith::CmpIPredicate::ult, at, rowCount);
        choose(tile.index, isRow, [&] {
          vector::MaskedStoreOp::create(tile.builder, tile.loc, op.getOut(), ValueRange{at, column},
                                        mask, vectors[i]);
        });
      }
    });
  });
  return success();
}

/// Numbers of the keys from `key` on, one for each lane.
static Value keyPositions(TileVectors &tile, Value key) {
  auto type = VectorType::get({tile.target.lanes}, tile.builder.getI32Type());
  SmallVector<int32_t> steps(tile.target.lanes);
  std::iota(steps.begin(), steps.end(), 0);
  Value lanes = arith::ConstantOp::create(tile.builder, tile.loc,
                                          DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
  Value narrow = arith::IndexCastOp::create(tile.builder, tile.loc, tile.builder.getI32Type(), key);
  return arith::AddIOp::create(tile.builder, tile.loc,
                               vector::BroadcastOp::create(tile.builder, tile.loc, type, narrow),
                               lanes);
}

/// The number of the first key of a row whose score is the maximum, in all lanes; a number that no
/// key has where there is no live one.
static Value firstLargest(TileVectors &tile, Value rows, Value row, Value keys, Value maximum) {
  auto type = VectorType::get({tile.target.lanes}, tile.builder.getI32Type());
  Value none = tile.constant(-std::numeric_limits<double>::infinity());
  auto many = [&]() -> Value {
    return arith::ConstantOp::create(
        tile.builder, tile.loc, DenseElementsAttr::get(type, std::numeric_limits<int32_t>::max()));
  };
  auto loop = scf::ForOp::create(tile.builder, tile.loc, tile.index.constant(0), keys,
                                 tile.index.constant(tile.target.lanes), ValueRange{many()});
  {
    OpBuilder::InsertionGuard guard(tile.builder);
    tile.builder.setInsertionPointToStart(loop.getBody());
    Value key = loop.getInductionVar();
    Value score = vector::MaskedLoadOp::create(
        tile.builder, tile.loc, tile.vectorType, rows, ValueRange{row, key},
        maskUpTo(tile.index, keys, key, tile.target.lanes), none);
    Value isLargest =
        arith::CmpFOp::create(tile.builder, tile.loc, arith::CmpFPredicate::OEQ, score, maximum);
    Value here =
        arith::SelectOp::create(tile.builder, tile.loc, isLargest, keyPositions(tile, key), many());
    Value first = arith::MinSIOp::create(tile.builder, tile.loc, loop.getRegionIterArg(0), here);
    scf::YieldOp::create(tile.builder, tile.loc, first);
  }
  Value first = vector::ReductionOp::create(tile.builder, tile.loc, vector::CombiningKind::MINSI,
                                            loop.getResult(0));
  return vector::BroadcastOp::create(tile.builder, tile.loc, type, first);
}

LogicalResult vectorize(TileVectors &tile, WeightRowsOp op) {
  int64_t lanes = tile.target.lanes;
  Value keys = tile.index.dim(op.getRows(), 1);
  Value none = tile.constant(-std::numeric_limits<double>::infinity());
  forLoop(tile.index, tile.index.constant(0), tile.index.dim(op.getRows(), 0), 1, [&](Value row) {
    Value maximum = tile.broadcast(op.getStatistics(), tile.index.constant(Maximum), row);
    auto update = [&](llvm::function_ref<Value(Value, Value)> weight) {
      forLoop(tile.index, tile.index.constant(0), keys, lanes, [&](Value key) {
        Value mask = maskUpTo(tile.index, keys, key, lanes);
        Value score = vector::MaskedLoadOp::create(tile.builder, tile.loc, tile.vectorType,
                                                   op.getRows(), ValueRange{row, key}, mask, none);
        vector::MaskedStoreOp::create(tile.builder, tile.loc, op.getRows(), ValueRange{row, key},
                                      mask, weight(score, key));
      });
    };
    if (!op.getHard()) {
      Value sum = memref::LoadOp::create(tile.builder, tile.loc, op.getStatistics(),
                                         ValueRange{tile.index.constant(Sum), row});
      Value scale =
          vector::BroadcastOp::create(tile.builder, tile.loc, tile.vectorType, tile.inverse(sum));
      return update([&](Value score, Value) -> Value {
        Value power = tile.weightOf(score, maximum, tile.unitOf(op));
        return arith::MulFOp::create(tile.builder, tile.loc, power, scale);
      });
    }
    Value first = firstLargest(tile, op.getRows(), row, keys, maximum);
    update([&](Value, Value key) -> Value {
      Value isFirst = arith::CmpIOp::create(tile.builder, tile.loc, arith::CmpIPredicate::eq,
                                            keyPositions(tile, key), first);
      return arith::SelectOp::create(tile.builder, tile.loc, isFirst, tile.constant(1),
                                     tile.constant(0));
    });
  });
  return success();
}

/// log(sum of exp(score)) = ln 2 * (unit * maximum + log2(sum of exp2(unit * (score - maximum)))).
LogicalResult vectorize(TileVectors &tile, LseTileOp op) {
  constexpr double ln2 = 0.6931471805599453;
  Value factorRow = tile.index.constant(Factor);
  for (int64_t lane = 0; lane < static_cast<int64_t>(op.getQueries()); lane += tile.target.lanes) {
    Value at = tile.index.constant(lane);
    Value maximum = tile.load(op.getStatistics(), tile.index.constant(Maximum), at);
    Value sum = tile.load(op.getStatistics(), tile.index.constant(Sum), at);
    Value log = math::LogOp::create(tile.builder, tile.loc, sum);
    Value scaled = maximum;
    if (float factor = ln2 * tile.unitOf(op); factor != 1)
      scaled = arith::MulFOp::create(tile.builder, tile.loc, maximum, tile.constant(factor));
    Value lse = arith::AddFOp::create(tile.builder, tile.loc, scaled, log);
    tile.store(lse, op.getStatistics(), factorRow, at);
  }
  forLoop(tile.index, tile.index.constant(0), tile.index.dim(op.getOut(), 0), 1, [&](Value row) {
    Value lse = memref::LoadOp::create(tile.builder, tile.loc, op.getStatistics(),
                                       ValueRange{factorRow, row});
    memref::StoreOp::create(tile.builder, tile.loc, lse, op.getOut(), ValueRange{row});
  });
  return success();
}

} // namespace attn
