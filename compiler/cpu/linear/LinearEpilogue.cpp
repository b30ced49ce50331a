// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums in registers to stored outputs: floats of sums of bytes, bias, epilogue, and the store,
// masked at the last column.
#include "compiler/cpu/linear/LinearEpilogue.h"
#include "compiler/cpu/vectors/BfloatPairs.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

static int64_t rowDims(Value buffer) { return cast<MemRefType>(buffer.getType()).getRank() - 1; }

SmallVector<LinearEpilogue::RowQuantization> LinearEpilogue::rowQuantizations(RowViews rows) const {
  OpBuilder &builder = index.builder;
  auto floats = VectorType::get({lanes}, builder.getF32Type());
  Type sum = cast<MemRefType>(quantization[2].getType()).getElementType();
  SmallVector<RowQuantization> all;
  for (Value row : rows.of(quantization[0], rowDims(quantization[0]))) {
    auto at = [&](int64_t i) -> Value {
      return memref::LoadOp::create(builder, index.loc, row, index.constant(i));
    };
    Value zero = at(1);
    if (sum.isInteger(32))
      zero = arith::FPToSIOp::create(builder, index.loc, sum, zero);
    all.push_back(
        {vector::BroadcastOp::create(builder, index.loc, floats, at(0)),
         vector::BroadcastOp::create(builder, index.loc, VectorType::get({lanes}, sum), zero)});
  }
  return all;
}

Value LinearEpilogue::dequantized(Value sum, const RowQuantization &row,
                                  const ColumnQuantization &columns) const {
  OpBuilder &builder = index.builder;
  Location loc = index.loc;
  if (!columns.scales) {
    auto type = cast<VectorType>(sum.getType());
    Value sixteenth = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, builder.getF32FloatAttr(1.0f / 16)));
    if (areSixteenfold)
      sum = arith::MulFOp::create(builder, loc, sum, sixteenth);
    Value shift = arith::MulFOp::create(builder, loc, row.zero, columns.sums);
    return arith::MulFOp::create(builder, loc, arith::SubFOp::create(builder, loc, sum, shift),
                                 row.scale);
  }
  Value shift = arith::MulIOp::create(builder, loc, row.zero, columns.sums);
  Value exact = arith::SIToFPOp::create(builder, loc, columns.scales.getType(),
                                        arith::SubIOp::create(builder, loc, sum, shift));
  return arith::MulFOp::create(builder, loc, exact,
                               arith::MulFOp::create(builder, loc, row.scale, columns.scales));
}

Value LinearEpilogue::outputFor(Value sum, Value bias, ArrayRef<Value> captured) const {
  if (bias)
    sum = arith::AddFOp::create(index.builder, index.loc, sum, bias);
  if (function.empty())
    return sum;
  SmallVector<Value> arguments{sum};
  llvm::append_range(arguments, captured);
  return vectorizeRegion(index.builder, function, arguments, lanes);
}

LogicalResult LinearEpilogue::finish(ArrayRef<Value> sums, Value row, int64_t rows, Value column,
                                     int64_t count) const {
  RowViews views(index, row, rows);
  SmallVector<SmallVector<Value>> captured;
  for (Value capture : captures)
    captured.push_back(views.of(capture, rowDims(capture)));
  SmallVector<RowQuantization> quantizations;
  Value columnScales;
  if (!quantization.empty()) {
    quantizations = rowQuantizations(views);
    if (cast<MemRefType>(quantization[1].getType()).getElementType().isF32())
      columnScales = quantization[1];
  }
  SmallVector<Value> outs = views.of(out, rowDims(out));
  bool isRounded = cast<MemRefType>(out.getType()).getElementType().isInteger(16);
  int64_t vectors = static_cast<int64_t>(sums.size()) / rows;
  for (int64_t v = 0; v < vectors && v * lanes < count; ++v) {
    ColumnVector own{index, column, v * lanes, lanes, std::min(lanes, count - v * lanes)};
    Value shift = bias ? own.load(bias) : Value();
    ColumnQuantization columns;
    if (!quantization.empty()) {
      columns.sums = own.load(quantization[2]);
      if (columnScales)
        columns.scales = own.load(columnScales);
    }
    for (int64_t r = 0; r < rows; ++r) {
      Value sum = sums[r * vectors + v];
      if (!quantizations.empty())
        sum = dequantized(sum, quantizations[r], columns);
      SmallVector<Value> elements;
      for (const SmallVector<Value> &capture : captured)
        elements.push_back(own.load(capture[r]));
      Value result = outputFor(sum, shift, elements);
      if (!result)
        return failure();
      if (isRounded)
        result = BfloatPairs(index.builder, index.loc, target).bits(result);
      own.store(result, outs[r]);
    }
  }
  return success();
}
