// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of any stride to vectors: loads, gathers or one repeated element, and loops whose last
// vector is masked.
#include "compiler/cpu/vectors/RowVectors.h"
#include "compiler/cpu/vectors/BfloatPairs.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace attn;

std::optional<int64_t> attn::strideOf(Value row) {
  auto [strides, offset] = cast<MemRefType>(row.getType()).getStridesAndOffset();
  if (ShapedType::isDynamic(strides.back()))
    return std::nullopt;
  return strides.back();
}

Value attn::loadFloats(IndexBuilder index, Value buffer, ValueRange place, int64_t lanes,
                       Value mask) {
  OpBuilder &builder = index.builder;
  auto type = VectorType::get({lanes}, getElementTypeOrSelf(buffer.getType()));
  if (!mask)
    return widened(index, vector::LoadOp::create(builder, index.loc, type, buffer, place));
  Value zeros = arith::ConstantOp::create(builder, index.loc, builder.getZeroAttr(type));
  return widened(
      index, vector::MaskedLoadOp::create(builder, index.loc, type, buffer, place, mask, zeros));
}

Value RowVectors::zero() const {
  return arith::ConstantOp::create(index.builder, index.loc, index.builder.getZeroAttr(type));
}

Value RowVectors::prepare(Value row) const {
  if (strideOf(row) != 0)
    return row;
  return memref::LoadOp::create(index.builder, index.loc, row, index.constant(0));
}

Value RowVectors::maskOrAll(Value mask) const {
  if (mask)
    return mask;
  auto bits = VectorType::get({target.lanes}, index.builder.getI1Type());
  return arith::ConstantOp::create(index.builder, index.loc, DenseElementsAttr::get(bits, true));
}

std::pair<Value, Value> RowVectors::apart(Value row, Value column) const {
  OpBuilder &builder = index.builder;
  auto parts = memref::ExtractStridedMetadataOp::create(builder, index.loc, row);
  Value stride = parts.getStrides()[0];
  Value start = index.add(parts.getOffset(), index.mul(column, stride));
  int64_t any = ShapedType::kDynamic;
  auto layout = StridedLayoutAttr::get(builder.getContext(), any, {1});
  auto flat = MemRefType::get({any}, cast<MemRefType>(row.getType()).getElementType(), layout);
  Value size = index.mul(index.constant(target.lanes), stride);
  Value buffer = memref::ReinterpretCastOp::create(builder, index.loc, flat, parts.getBaseBuffer(),
                                                   OpFoldResult(start), OpFoldResult(size),
                                                   OpFoldResult(builder.getIndexAttr(1)));
  auto places = VectorType::get({target.lanes}, builder.getIndexType());
  Value lanes = vector::StepOp::create(builder, index.loc, places);
  Value strides = vector::BroadcastOp::create(builder, index.loc, places, stride);
  return {buffer, arith::MulIOp::create(builder, index.loc, lanes, strides)};
}

Value RowVectors::load(Value row, const RowPlace &place, Value rest) const {
  OpBuilder &builder = index.builder;
  auto type = VectorType::get({target.lanes}, getElementTypeOrSelf(row.getType()));
  if (!isa<MemRefType>(row.getType())) {
    Value all = vector::BroadcastOp::create(builder, index.loc, type, row);
    if (!place.mask || !rest)
      return all;
    return arith::SelectOp::create(builder, index.loc, place.mask, all, rest);
  }
  if (!rest)
    rest = arith::ConstantOp::create(builder, index.loc, builder.getZeroAttr(type));
  if (strideOf(row) != 1) {
    auto [buffer, lanes] = apart(row, place.column);
    return vector::GatherOp::create(builder, index.loc, type, buffer, index.constant(0), lanes,
                                    maskOrAll(place.mask), rest);
  }
  if (!place.mask)
    return vector::LoadOp::create(builder, index.loc, type, row, place.column);
  return vector::MaskedLoadOp::create(builder, index.loc, type, row, place.column, place.mask,
                                      rest);
}

void RowVectors::prefetchNextRow(Value row, Value columns, const RowPlace &place) const {
  if (strideOf(row) != 1)
    return;
  memref::PrefetchOp::create(index.builder, index.loc, row, index.add(place.column, columns),
                             /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
}

void RowVectors::store(Value vector, Value row, const RowPlace &place) const {
  OpBuilder &builder = index.builder;
  if (getElementTypeOrSelf(row.getType()).isInteger(16) &&
      getElementTypeOrSelf(vector.getType()).isF32())
    vector = BfloatPairs(builder, index.loc, target).bits(vector);
  if (strideOf(row) != 1) {
    auto [buffer, lanes] = apart(row, place.column);
    vector::ScatterOp::create(builder, index.loc, Type(), buffer, index.constant(0), lanes,
                              maskOrAll(place.mask), vector);
  } else if (place.mask) {
    vector::MaskedStoreOp::create(builder, index.loc, row, place.column, place.mask, vector);
  } else {
    vector::StoreOp::create(builder, index.loc, vector, row, place.column);
  }
}

void RowVectors::storeNumber(Value number, Value row, Value column) const {
  memref::StoreOp::create(index.builder, index.loc, number, row, column);
}

Value RowVectors::repeat(Value number) const {
  return splat(index.builder, index.loc, number, target.lanes);
}

Value RowVectors::columnsAt(const RowPlace &place) const {
  OpBuilder &builder = index.builder;
  auto places = VectorType::get({target.lanes}, builder.getI32Type());
  Value lanes = vector::StepOp::create(builder, index.loc,
                                       VectorType::get({target.lanes}, builder.getIndexType()));
  lanes = arith::IndexCastOp::create(builder, index.loc, places, lanes);
  return arith::AddIOp::create(builder, index.loc, lanes, repeat(place.column));
}

Value RowVectors::apply(Region &body, ValueRange elements) const {
  return vectorizeRegion(index.builder, body, elements, target.lanes);
}

Value RowVectors::acrossLanes(Value vector, Combine combine) const {
  OpBuilder &builder = index.builder;
  for (int64_t half = target.lanes / 2; half >= 1; half /= 2) {
    auto part = [&](int64_t from) -> Value {
      return vector::ExtractStridedSliceOp::create(builder, index.loc, vector, from, half, 1);
    };
    vector = combine(part(0), part(half));
  }
  return vector::ExtractOp::create(builder, index.loc, vector, 0);
}

Value RowVectors::firstLanes(Value count) const {
  auto bits = VectorType::get({target.lanes}, index.builder.getI1Type());
  std::optional<int64_t> constant = constantIndex(count);
  if (!constant)
    return vector::CreateMaskOp::create(index.builder, index.loc, bits, count);
  if (*constant >= target.lanes)
    return {};
  return vector::ConstantMaskOp::create(index.builder, index.loc, bits, *constant);
}

void RowVectors::forEach(Value columns, int64_t unroll,
                         llvm::function_ref<void(const RowPlace &)> body) const {
  forEachVector(columns, unroll, {}, [&](const RowPlace &place, ValueRange) {
    body(place);
    return SmallVector<Value>{};
  });
}

void RowVectors::forPlaces(Value columns, int64_t most,
                           llvm::function_ref<void(ArrayRef<RowPlace>)> body) const {
  std::optional<int64_t> size = constantIndex(columns);
  int64_t vectors = size ? llvm::divideCeil(*size, target.lanes) : most;
  SmallVector<RowPlace> places;
  for (int64_t i = 0; i < vectors; ++i) {
    Value column = index.constant(i * target.lanes);
    places.push_back({column, firstLanes(index.sub(columns, column))});
  }
  body(places);
}

RowFold::State RowVectors::fold(Value columns, int64_t unroll, const RowFold &fold,
                                ValueRange before) const {
  SmallVector<Value> found = forEachVector(columns, unroll, fold.start, fold.step);
  size_t each = fold.start.size();
  RowFold::State total(ArrayRef(found).take_front(each));
  for (size_t i = each; i < found.size(); i += each)
    total = fold.join(total, ArrayRef(found).slice(i, each));
  return before.empty() ? total : fold.join(before, total);
}

SmallVector<Value> RowVectors::forEachVector(
    Value columns, int64_t unroll, ArrayRef<Value> inits,
    llvm::function_ref<SmallVector<Value>(const RowPlace &, ValueRange)> body) const {
  OpBuilder &builder = index.builder;
  int64_t lanes = target.lanes, each = inits.size();
  SmallVector<Value> values;
  for (int64_t i = 0; i < unroll; ++i)
    values.append(inits.begin(), inits.end());
  // Vector `i` of the round that starts at `column`.
  auto step = [&](int64_t i, Value column, Value mask, SmallVector<Value> &values) {
    Value own = index.add(column, index.constant(i * lanes));
    SmallVector<Value> next = body({own, mask}, ArrayRef(values).slice(i * each, each));
    llvm::copy(next, values.begin() + i * each);
  };
  auto rounds = [&](Value from, Value to, int64_t count) {
    auto loop = scf::ForOp::create(builder, index.loc, from, to, index.constant(count * lanes),
                                   values, [](OpBuilder &, Location, Value, ValueRange) {});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> inner(loop.getRegionIterArgs());
    for (int64_t i = 0; i < count; ++i)
      step(i, loop.getInductionVar(), {}, inner);
    scf::YieldOp::create(builder, index.loc, inner);
    values = loop.getResults();
  };
  auto downTo = [&](int64_t multiple) {
    return index.mul(index.div(columns, index.constant(multiple)), index.constant(multiple));
  };

  Value whole = downTo(unroll * lanes), vectors = downTo(lanes);
  if (constantIndex(whole) != 0)
    rounds(index.constant(0), whole, unroll);
  std::optional<int64_t> size = constantIndex(columns);
  if (!size) {
    rounds(whole, vectors, 1);
    step(0, vectors, firstLanes(index.sub(columns, vectors)), values);
    return values;
  }
  int64_t rest = *size % (unroll * lanes);
  for (int64_t i = 0; i < rest / lanes; ++i)
    step(i, whole, {}, values);
  if (rest % lanes != 0)
    step(rest / lanes, whole, firstLanes(index.constant(rest % lanes)), values);
  return values;
}
