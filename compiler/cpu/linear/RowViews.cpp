// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Neighbouring rows of buffers whose rows have several dims to one view each.
#include "compiler/cpu/linear/RowViews.h"
#include "compiler/cpu/vectors/RowVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

/// Moves indices of dims [0, indices.size()) on by one element, row-major.
static void advance(IndexBuilder index, Value buffer, SmallVectorImpl<Value> &indices) {
  Value carry;
  for (int64_t d = indices.size() - 1; d >= 0; --d) {
    Value next = index.add(indices[d], carry ? carry : index.constant(1));
    if (d == 0) { // never past the last row
      indices[0] = next;
      return;
    }
    Value isPast = arith::CmpIOp::create(index.builder, index.loc, arith::CmpIPredicate::uge, next,
                                         index.dim(buffer, d));
    indices[d] =
        index.builder.createOrFold<arith::SelectOp>(index.loc, isPast, index.constant(0), next);
    carry = index.builder.createOrFold<arith::IndexCastUIOp>(index.loc,
                                                             index.builder.getIndexType(), isPast);
  }
}

SmallVector<Value> RowViews::of(Value buffer, int64_t rowDims) const {
  SmallVector<Value> indices = index.delinearize(first, buffer, 0, rowDims), views;
  SmallVector<OpFoldResult> sizes(rowDims, index.builder.getIndexAttr(1));
  for (int64_t r = 0; r < count; ++r) {
    SmallVector<OpFoldResult> offsets(indices.begin(), indices.end());
    views.push_back(viewOf(index, buffer, offsets, sizes, rowDims));
    if (r + 1 < count)
      advance(index, buffer, indices);
  }
  return views;
}

Value ColumnVector::at(int64_t lane) const {
  return index.add(column, index.constant(offset + lane));
}

Value ColumnVector::mask() const {
  return vector::ConstantMaskOp::create(index.builder, index.loc,
                                        VectorType::get({lanes}, index.builder.getI1Type()),
                                        ArrayRef<int64_t>(count));
}

Value ColumnVector::load(Value row) const {
  OpBuilder &builder = index.builder;
  Location loc = index.loc;
  auto type = VectorType::get({lanes}, cast<MemRefType>(row.getType()).getElementType());
  std::optional<int64_t> stride = strideOf(row);
  if (stride == 1 && count == lanes)
    return vector::LoadOp::create(builder, loc, type, row, ValueRange(at(0)));
  if (stride == 0)
    return vector::BroadcastOp::create(builder, loc, type,
                                       memref::LoadOp::create(builder, loc, row, at(0)));
  Value result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  if (stride == 1)
    return vector::MaskedLoadOp::create(builder, loc, type, row, ValueRange(at(0)), mask(), result);
  for (int64_t lane = 0; lane < count; ++lane)
    result = vector::InsertOp::create(
        builder, loc, memref::LoadOp::create(builder, loc, row, at(lane)), result, lane);
  return result;
}

void ColumnVector::store(Value vector, Value row) const {
  OpBuilder &builder = index.builder;
  Location loc = index.loc;
  if (strideOf(row) == 1 && count == lanes)
    vector::StoreOp::create(builder, loc, vector, row, ValueRange(at(0)));
  else if (strideOf(row) == 1)
    vector::MaskedStoreOp::create(builder, loc, row, ValueRange(at(0)), mask(), vector);
  else
    for (int64_t lane = 0; lane < count; ++lane)
      memref::StoreOp::create(builder, loc, vector::ExtractOp::create(builder, loc, vector, lane),
                              row, at(lane));
}
