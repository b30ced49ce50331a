// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread's sums of neighbouring columns to stored outputs, in pieces as large as buffers are
// aligned for.
#include "compiler/gpu/linear/LinearOutput.h"
#include "compiler/gpu/linear/Linear.h"
#include "compiler/gpu/threads/Warp.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

int64_t attn::neighboursIn(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return 1;
  int64_t most = 8;
  strides.back() = offset;
  for (int64_t value : strides)
    while (ShapedType::isDynamic(value) ? most > 1 : value % most != 0)
      most /= 2;
  return most;
}

LinearOutputRow::LinearOutputRow(LinearKernelOp op, IndexBuilder index, Value flat)
    : op(op), index(index), neighbours(neighboursIn(op.getOut())) {
  while (op.getOut().getType().getShape().back() % neighbours != 0)
    neighbours /= 2;
  if (op.getBias())
    neighbours = std::min(neighbours, neighboursIn(op.getBias()));
  for (Value capture : op.getCaptures())
    neighbours = std::min(neighbours, neighboursIn(capture));
  // What is captured may have axes that are one in the output, where it is repeated along some.
  auto findRow = [&](Value buffer) {
    rows[buffer] =
        index.delinearize(flat, buffer, 0, cast<MemRefType>(buffer.getType()).getRank() - 1);
  };
  findRow(op.getOut());
  for (Value capture : op.getCaptures())
    findRow(capture);
  if (op.getQuantization().empty())
    return;
  Value range = op.getQuantization()[0];
  SmallVector<Value> place =
      index.delinearize(flat, range, 0, cast<MemRefType>(range.getType()).getRank() - 1);
  place.push_back(index.constant(0));
  scale = loadElement(index.builder, index.loc, range, place, 1);
  place.back() = index.constant(1);
  zero = loadElement(index.builder, index.loc, range, place, 1);
}

Value LinearOutputRow::dequantized(Value column, Value sum) {
  OpBuilder &builder = index.builder;
  Location loc = index.loc;
  if (op.getQuantization().empty())
    return sum;
  Value columnSum = memref::LoadOp::create(builder, loc, op.getQuantization()[2], column);
  if (sum.getType().isF32()) {
    Value shift = arith::MulFOp::create(builder, loc, zero, columnSum);
    return arith::MulFOp::create(builder, loc, arith::SubFOp::create(builder, loc, sum, shift),
                                 scale);
  }
  Value whole = arith::FPToSIOp::create(builder, loc, sum.getType(), zero);
  Value shift = arith::MulIOp::create(builder, loc, whole, columnSum);
  Value exact = arith::SIToFPOp::create(builder, loc, builder.getF32Type(),
                                        arith::SubIOp::create(builder, loc, sum, shift));
  Value columnScale = memref::LoadOp::create(builder, loc, op.getQuantization()[1], column);
  return arith::MulFOp::create(builder, loc, exact,
                               arith::MulFOp::create(builder, loc, scale, columnScale));
}

SmallVector<Value> LinearOutputRow::placeIn(Value buffer, Value column) {
  SmallVector<Value> place = rows.lookup(buffer);
  place.push_back(column);
  return place;
}

Value LinearOutputRow::epilogue(ArrayRef<Value> elements) {
  if (op.getEpilogue().empty())
    return elements.front();
  return inlineHook(index.builder, op.getEpilogue(), elements, {}, {});
}

/// Bytes that `count` elements are aligned at; more than 16 are read in several pieces.
static llvm::MaybeAlign alignmentOf(Type element, int64_t count) {
  return llvm::MaybeAlign(std::min<int64_t>(16, count * element.getIntOrFloatBitWidth() / 8));
}

SmallVector<Value> LinearOutputRow::load(Value buffer, ValueRange place, int64_t count) {
  OpBuilder &builder = index.builder;
  Location loc = index.loc;
  if (count == 1)
    return {loadElement(builder, loc, buffer, place, 1)};
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  auto floats = VectorType::get({count}, builder.getF32Type());
  Value piece =
      vector::LoadOp::create(builder, loc, VectorType::get({count}, element), buffer, place,
                             /*nontemporal=*/false, alignmentOf(element, count));
  if (!element.isF32())
    piece = arith::ExtFOp::create(builder, loc, floats, piece);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(vector::ExtractOp::create(builder, loc, piece, i));
  return elements;
}

SmallVector<Value> LinearOutputRow::finished(Value column, ArrayRef<Value> sums) {
  OpBuilder &builder = index.builder;
  Location loc = index.loc;
  auto count = static_cast<int64_t>(sums.size());
  SmallVector<SmallVector<Value>> elements;
  for (auto [i, sum] : llvm::enumerate(sums))
    elements.push_back(
        {dequantized(index.add(column, index.constant(static_cast<int64_t>(i))), sum)});
  if (op.getBias())
    for (auto [element, bias] : llvm::zip_equal(elements, load(op.getBias(), column, count)))
      element[0] = arith::AddFOp::create(builder, loc, element[0], bias);
  for (Value capture : op.getCaptures())
    for (auto [element, value] :
         llvm::zip_equal(elements, load(capture, placeIn(capture, column), count)))
      element.push_back(value);
  SmallVector<Value> results;
  for (ArrayRef<Value> element : elements)
    results.push_back(epilogue(element));
  return results;
}

void LinearOutputRow::finishPiece(Value column, ArrayRef<Value> sums) {
  OpBuilder &builder = index.builder;
  Location loc = index.loc;
  auto count = static_cast<int64_t>(sums.size());
  SmallVector<Value> results = finished(column, sums);
  SmallVector<Value> place = placeIn(op.getOut(), column);
  if (count == 1)
    return storeFloat(builder, loc, results[0], op.getOut(), place);
  auto floats = VectorType::get({count}, builder.getF32Type());
  Value piece = vector::FromElementsOp::create(builder, loc, floats, results);
  Type element = op.getOut().getType().getElementType();
  if (!element.isF32())
    piece = arith::TruncFOp::create(builder, loc, VectorType::get({count}, element), piece);
  vector::StoreOp::create(builder, loc, piece, op.getOut(), place, /*nontemporal=*/false,
                          alignmentOf(element, count));
}

void LinearOutputRow::finish(Value column, ArrayRef<Value> sums, bool isInside) {
  Value n = index.dim(op.getOut(), op.getOut().getType().getRank() - 1);
  auto width = std::min(neighbours, static_cast<int64_t>(sums.size()));
  for (int64_t i = 0; i < static_cast<int64_t>(sums.size()); i += width) {
    Value first = index.add(column, index.constant(i));
    Value isThere = isInside ? index.truth(true)
                             : Value(arith::CmpIOp::create(index.builder, index.loc,
                                                           arith::CmpIPredicate::ult, first, n));
    choose(index, isThere, [&] { finishPiece(first, sums.slice(i, width)); });
  }
}
