// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of Warp to shuffles and loops over lanes.
#include "compiler/gpu/threads/Warp.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

Warp::Warp(OpBuilder &builder, Location loc) : builder(builder), loc(loc), index(builder, loc) {
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  lane = index.rem(thread, index.constant(lanes));
}

void Warp::forEach(Value count, llvm::function_ref<void(Value)> body) const {
  forLoop(index, lane, count, lanes, body);
}

SmallVector<Value> Warp::forEach(Value count, ValueRange inits,
                                 llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body,
                                 int64_t times) const {
  auto loop = scf::ForOp::create(builder, loc, lane, count, index.constant(times * lanes), inits,
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(builder, loc, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return loop.getResults();
}

Value Warp::combine(Value value, llvm::function_ref<Value(Value, Value)> operation) const {
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2) {
    auto other = gpu::ShuffleOp::create(builder, loc, value, static_cast<int32_t>(distance),
                                        static_cast<int32_t>(lanes), gpu::ShuffleMode::XOR);
    value = operation(value, other.getShuffleResult());
  }
  return value;
}

Value Warp::sum(Value value) const {
  return combine(
      value, [&](Value a, Value b) -> Value { return arith::AddFOp::create(builder, loc, a, b); });
}

Value Warp::broadcast(Value value, Value of) const {
  Type i32 = builder.getI32Type();
  Value width = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(lanes));
  Value source = arith::IndexCastOp::create(builder, loc, i32, of);
  return gpu::ShuffleOp::create(builder, loc, value, source, width, gpu::ShuffleMode::IDX)
      .getShuffleResult();
}

Value Warp::load(Value buffer, ValueRange place) const {
  return loadElement(builder, loc, buffer, place, 1);
}

void attn::storeFloat(OpBuilder &builder, Location loc, Value value, Value buffer,
                      ValueRange place) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  if (element != value.getType())
    value = arith::TruncFOp::create(builder, loc, element, value);
  memref::StoreOp::create(builder, loc, value, buffer, place);
}

void Warp::store(Value value, Value buffer, ValueRange place) const {
  storeFloat(builder, loc, value, buffer, place);
}
