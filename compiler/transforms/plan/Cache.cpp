// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, caches: rows are copied behind those that are kept; what attention reads lies
// where it is kept. A call that fills a cache anew counts its rows alone as kept.
//
// The states of a cache lie one after the other in its memory, in the module's order, each as
// [layers][axes...] with the capacity along the cache's axis (ModulePlan::placeOf).
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "dialect/Caches.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attn::planning {

/// All rows of a layer's state, where they are kept.
template <typename Op> static BufferView keptBy(FunctionPlan &plan, Op op, StateOp state) {
  auto type = cast<RankedTensorType>(state.getType());
  int64_t axis = state.axis(),
          capacity = plan.module.op.lookupSymbol<DimOp>(state.getCache()).getSize();
  Type element = plan.module.elementOf(state);
  SizePolynomial inOne(type.getElementTypeBitWidth() / element.getIntOrFloatBitWidth());
  auto emitPlace = [&](const SizePolynomial &place) {
    return (inOne * place).emit(plan.builder, op.getLoc(), [&](StringRef name) {
      return plan.dim(name);
    });
  };
  Value place = emitPlace(plan.module.placeOf(state));
  if (op.getLayer()) {
    Value layer = plan.builder.createOrFold<arith::MulIOp>(
        op.getLoc(), plan.scalars.lookup(op.getLayer()), emitPlace(plan.module.layerOf(state)));
    place = plan.builder.createOrFold<arith::AddIOp>(op.getLoc(), place, layer);
  }
  Value base = CachePlaceOp::create(plan.builder, op.getLoc(),
                                    MemRefType::get({}, plan.module.stored(element)),
                                    state.getCache(), place, plan.arguments.call);
  BufferView kept{base, 0, {}};
  SizePolynomial stride(1);
  kept.axes.resize(type.getRank());
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    kept.axes[d] = {Atom{sizeOf(type, d), stride}};
    stride = stride * (d == axis ? SizePolynomial(capacity) : sizeOf(type, d));
  }
  return plan.places.views[op.getResult()] = kept;
}

LogicalResult emit(FunctionPlan &plan, KeptOp op) {
  keptBy(plan, op, plan.module.op.lookupSymbol<StateOp>(op.getState()));
  return success();
}

LogicalResult emit(FunctionPlan &plan, PushOp op) {
  auto state = plan.module.op.lookupSymbol<StateOp>(op.getState());
  auto type = cast<RankedTensorType>(state.getType());
  int64_t axis = state.axis();
  BufferView kept = keptBy(plan, op, state);
  SizePolynomial rows = sizeOf(typeOf(op.getRows()), axis);
  return copy(plan, op, viewOf(plan, op.getRows()),
              kept.window(axis, sizeOf(type, axis) - rows, rows));
}

} // namespace attn::planning
