// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows, sums and squares of vectors, as the tiles of an attention are written with them.
#include "compiler/cpu/attention/TileVectors.h"
#include "compiler/cpu/attention/RegisterBlocks.h"
#include "compiler/cpu/vectors/RowVectors.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;

namespace attn {

Value TileVectors::constant(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(vectorType, static_cast<float>(value)));
}

Value TileVectors::mask(int64_t valid, int64_t lanes) {
  auto type = VectorType::get({lanes}, builder.getI1Type());
  return vector::ConstantMaskOp::create(builder, loc, type, ArrayRef<int64_t>{valid});
}

Value TileVectors::load(Value matrix, Value row, Value column, int64_t valid, int64_t lanes) {
  return loadFloats(index, matrix, {row, column}, lanes,
                    valid < lanes ? mask(valid, lanes) : Value());
}

void TileVectors::store(Value vector, Value matrix, Value row, Value column, int64_t valid) {
  if (getElementTypeOrSelf(matrix.getType()).isInteger(16))
    vector = pairs.bits(vector);
  int64_t lanes = cast<VectorType>(vector.getType()).getDimSize(0);
  if (valid >= lanes)
    vector::StoreOp::create(builder, loc, vector, matrix, ValueRange{row, column});
  else
    vector::MaskedStoreOp::create(builder, loc, matrix, ValueRange{row, column}, mask(valid, lanes),
                                  vector);
}

void TileVectors::prefetch(Value matrix, Value row, Value column, int64_t size, bool isWrite) {
  for (int64_t c = 0; c < size; c += lineElements(matrix))
    memref::PrefetchOp::create(builder, loc, matrix, ValueRange{row, plus(column, c)}, isWrite,
                               /*localityHint=*/3, /*isDataCache=*/true);
}

Value TileVectors::broadcast(Value matrix, Value row, Value column) {
  Value scalar = memref::LoadOp::create(builder, loc, matrix, ValueRange{row, column});
  return vector::BroadcastOp::create(builder, loc, vectorType, scalar);
}

Value TileVectors::queryPositions(Value first, Value last, int64_t w) {
  SmallVector<int32_t> steps(target.lanes);
  std::iota(steps.begin(), steps.end(), int32_t(w * target.lanes));
  auto type = VectorType::get({target.lanes}, builder.getI32Type());
  Value lanes = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
  Value all = arith::AddIOp::create(builder, loc, splat(builder, loc, first, target.lanes), lanes);
  return arith::MinSIOp::create(builder, loc, all, splat(builder, loc, last, target.lanes));
}

Value TileVectors::larger(Value a, Value b) {
  if (target.maxima)
    return arith::MaxNumFOp::create(builder, loc, a, b);
  Value isLarger = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
  return arith::SelectOp::create(builder, loc, isLarger, a, b);
}

Value TileVectors::inverse(Value sum) {
  Type f32 = builder.getF32Type();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0)),
        one = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1));
  Value isZero = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, sum, zero);
  Value quotient = arith::DivFOp::create(builder, loc, f32, one, sum);
  return arith::SelectOp::create(builder, loc, isZero, zero, quotient);
}

double TileVectors::unitOf(Operation *tile) {
  auto unit = tile->getAttrOfType<FloatAttr>("unit");
  return unit ? unit.getValueAsDouble() : 1;
}

Value TileVectors::weightOf(Value score, Value maximum, double unit, bool isRough) {
  Value difference = arith::SubFOp::create(builder, loc, score, maximum);
  if (unit != 1)
    difference = arith::MulFOp::create(builder, loc, difference, constant(unit));
  auto flags = isRough ? arith::FastMathFlags::afn : arith::FastMathFlags::none;
  return math::Exp2Op::create(builder, loc, difference, flags);
}

Value TileVectors::isBeyond(Value before, Value maximum, double unit) {
  constexpr double slack = 8;
  Value limit = arith::AddFOp::create(builder, loc, before, constant(slack / unit));
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, maximum, limit);
}

Value TileVectors::keptMaximum(Value before, Value maximum, double unit) {
  return arith::SelectOp::create(builder, loc, isBeyond(before, maximum, unit), maximum, before);
}

SmallVector<Value>
TileVectors::sumLoop(Value from, Value to, ValueRange inits,
                     llvm::function_ref<void(Value, MutableArrayRef<Value>)> step) {
  auto loop = scf::ForOp::create(builder, loc, from, to, index.constant(1), inits);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> sums(loop.getRegionIterArgs());
  step(loop.getInductionVar(), sums);
  scf::YieldOp::create(builder, loc, sums);
  return loop.getResults();
}

void TileVectors::sumProducts(Value from, Value to, SmallVector<Value> sums,
                              const RowProducts &products, bool rowByRow) {
  int64_t end = constantIndex(to).value_or(0), some = RegisterBlocks::lastSteps,
          last = rowByRow && end >= 2 * some ? end - some : end;
  auto add = [&](Value step, int64_t first, int64_t count, MutableArrayRef<Value> sums) {
    SmallVector<Value> vectors = products.vectorsAt(step);
    for (int64_t row = first; row < first + count; ++row)
      products.add(step, row, vectors, sums);
  };
  sums =
      sumLoop(from, last < end ? index.constant(last) : to, sums,
              [&](Value step, MutableArrayRef<Value> sums) { add(step, 0, products.rows, sums); });
  for (int64_t row = 0; row < products.rows; ++row) {
    for (int64_t step = last; step < end; ++step)
      add(index.constant(step), row, 1, sums);
    products.finish(row, sums);
  }
}

/// For every bit of the lane's number, exchanges the halves that it tells apart between pairs of
/// vectors.
void TileVectors::transpose(MutableArrayRef<Value> rows) {
  int64_t lanes = target.lanes, count = rows.size();
  for (int64_t bit = 1; bit < count; bit *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      low.push_back(lane & bit ? lanes + lane - bit : lane);
      high.push_back(lane & bit ? lanes + lane : lane + bit);
    }
    for (int64_t i = 0; i < count; ++i) {
      if (i & bit)
        continue;
      Value a = rows[i], b = rows[i + bit];
      rows[i] = vector::ShuffleOp::create(builder, loc, a, b, low);
      rows[i + bit] = vector::ShuffleOp::create(builder, loc, a, b, high);
    }
  }
}

} // namespace attn
