// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/gpu/LinearOutput.h"
#include "compiler/cpu/VectorizeRegion.h"
#include "compiler/gpu/Kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

bool LinearOutputRow::hasPairs(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return false;
  auto isEven = [](int64_t value) { return !ShapedType::isDynamic(value) && value % 2 == 0; };
  return isEven(offset) && llvm::all_of(ArrayRef(strides).drop_back(), isEven);
}

LinearOutputRow::LinearOutputRow(LinearKernelOp op, IndexBuilder index, Value flat)
    : op(op), index(index) {
  pairs = op.getOut().getType().getShape().back() % 2 == 0 && hasPairs(op.getOut()) &&
          (!op.getBias() || hasPairs(op.getBias())) && llvm::all_of(op.getCaptures(), hasPairs);
  int64_t lifted = op.getOut().getType().getRank() - 1;
  rows[op.getOut()] = index.delinearize(flat, op.getOut(), 0, lifted);
  for (Value capture : op.getCaptures())
    rows[capture] = index.delinearize(flat, capture, 0, lifted);
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

void LinearOutputRow::finish(Value column, Value sum) {
  OpBuilder &builder = index.builder;
  Value n = index.dim(op.getOut(), op.getOut().getType().getRank() - 1);
  Value isThere = arith::CmpIOp::create(builder, index.loc, arith::CmpIPredicate::ult, column, n);
  choose(index, isThere, [&] {
    if (op.getBias())
      sum = arith::AddFOp::create(builder, index.loc, sum,
                                  loadElement(builder, index.loc, op.getBias(), column, 1));
    SmallVector<Value> elements{sum};
    for (Value capture : op.getCaptures())
      elements.push_back(loadElement(builder, index.loc, capture, placeIn(capture, column), 1));
    storeFloat(builder, index.loc, epilogue(elements), op.getOut(), placeIn(op.getOut(), column));
  });
}

void LinearOutputRow::finishPair(Value column, Value first, Value second) {
  OpBuilder &builder = index.builder;
  Location loc = index.loc;
  auto floats = VectorType::get({2}, builder.getF32Type());
  auto load = [&](Value buffer, ValueRange place) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    auto type = VectorType::get({2}, element);
    Value pair = vector::LoadOp::create(builder, loc, type, buffer, place, /*nontemporal=*/false,
                                        llvm::MaybeAlign(element.getIntOrFloatBitWidth() / 4));
    if (type != floats)
      pair = arith::ExtFOp::create(builder, loc, floats, pair);
    return pair;
  };
  auto part = [&](Value pair, int64_t i) -> Value {
    return vector::ExtractOp::create(builder, loc, pair, i);
  };
  SmallVector<Value> elements[2] = {{first}, {second}};
  if (op.getBias()) {
    Value bias = load(op.getBias(), column);
    for (int64_t i : {0, 1})
      elements[i][0] = arith::AddFOp::create(builder, loc, elements[i][0], part(bias, i));
  }
  for (Value capture : op.getCaptures()) {
    Value pair = load(capture, placeIn(capture, column));
    for (int64_t i : {0, 1})
      elements[i].push_back(part(pair, i));
  }
  SmallVector<Value> results{epilogue(elements[0]), epilogue(elements[1])};
  Value pair = vector::FromElementsOp::create(builder, loc, floats, results);
  Type element = op.getOut().getType().getElementType();
  if (!element.isF32())
    pair = arith::TruncFOp::create(builder, loc, VectorType::get({2}, element), pair);
  vector::StoreOp::create(builder, loc, pair, op.getOut(), placeIn(op.getOut(), column),
                          /*nontemporal=*/false,
                          llvm::MaybeAlign(element.getIntOrFloatBitWidth() / 4));
}

void LinearOutputRow::finish(Value column, Value first, Value second, bool isInside) {
  if (!pairs) {
    finish(column, first);
    finish(index.add(column, index.constant(1)), second);
    return;
  }
  if (isInside)
    return finishPair(column, first, second);
  Value n = index.dim(op.getOut(), op.getOut().getType().getRank() - 1);
  Value isThere =
      arith::CmpIOp::create(index.builder, index.loc, arith::CmpIPredicate::ult, column, n);
  choose(index, isThere, [&] { finishPair(column, first, second); });
}
