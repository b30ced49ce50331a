// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, caches: rows are copied behind those that are kept; what attention reads lies
// where it is kept.
//
// The states of a cache lie one after the other in its memory, in the module's order, each as
// [layers][axes...] with the capacity along the cache's axis.
#include "compiler/transforms/PlanMemoryImpl.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attn;

SizePolynomial ModulePlan::layerOf(StateOp state) {
  int64_t capacity = module.lookupSymbol<DimOp>(state.getCache()).getSize();
  return elementsOf(cast<RankedTensorType>(state.getType())).with(state.getCache(), capacity);
}

SizePolynomial ModulePlan::placeOf(StateOp state) {
  SizePolynomial place;
  for (auto other : module.getOps<StateOp>()) {
    if (other == state)
      break;
    if (other.getCache() == state.getCache())
      place = place + SizePolynomial(static_cast<int64_t>(other.getLayers())) * layerOf(other);
  }
  return place;
}

ModulePlan::ModulePlan(ModuleOp module) : module(module), layout(module) {
  for (auto dim : module.getOps<DimOp>())
    if (dim.getDynamic())
      dims.push_back(dim.getSymName());
  module.walk([&](PushOp push) {
    if (!isOnlyMultiplied(push.getResult()))
      readStates.insert(push.getState());
  });
}

Type ModulePlan::elementOf(StateOp state) {
  Type element = cast<RankedTensorType>(state.getType()).getElementType();
  bool isNarrow = keptHalf() && element.isF32() && !readStates.contains(state.getSymName());
  return isNarrow ? keptHalf() : element;
}

LogicalResult FunctionPlan::emitPush(PushOp op) {
  auto state = plan.module.lookupSymbol<StateOp>(op.getState());
  auto type = cast<RankedTensorType>(state.getType());
  int64_t axis = state.axis(),
          capacity = plan.module.lookupSymbol<DimOp>(state.getCache()).getSize();
  Type element = plan.elementOf(state);
  SizePolynomial inOne(type.getElementTypeBitWidth() / element.getIntOrFloatBitWidth());
  auto emitPlace = [&](const SizePolynomial &place) {
    return (inOne * place).emit(builder, op.getLoc(), [&](StringRef name) { return dim(name); });
  };
  Value place = emitPlace(plan.placeOf(state));
  if (op.getLayer()) {
    Value layer = builder.createOrFold<arith::MulIOp>(op.getLoc(), scalars.lookup(op.getLayer()),
                                                      emitPlace(plan.layerOf(state)));
    place = builder.createOrFold<arith::AddIOp>(op.getLoc(), place, layer);
  }
  Value base = CacheAddressOp::create(builder, op.getLoc(),
                                      MemRefType::get({}, plan.stored(element)), place, call);
  BufferView kept{base, 0, {}};
  SizePolynomial stride(1);
  kept.axes.resize(type.getRank());
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    kept.axes[d] = {Atom{sizeOf(type, d), stride}};
    stride = stride * (d == axis ? SizePolynomial(capacity) : sizeOf(type, d));
  }
  views[op.getResult()] = kept;
  SizePolynomial rows = sizeOf(typeOf(op.getRows()), axis);
  return copy(op, viewOf(op.getRows()), kept.window(axis, sizeOf(type, axis) - rows, rows));
}
