// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, calls and stacks of layers.
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Function.h"
#include "compiler/transforms/plan/InPlace.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"

using namespace mlir;

namespace attn::planning {

/// Copies what the calls in a loop take from outside, where it lies otherwise than they take it:
/// once, as the keys of another layer are, not for each layer.
static LogicalResult copyInFront(FunctionPlan &plan, scf::ForOp op) {
  WalkResult done = op.walk([&](func::CallOp call) {
    for (Value value : call.getOperands())
      if (isa<RankedTensorType>(value.getType()) && value.getParentBlock() == op->getBlock() &&
          failed(passed(plan, op, value)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(done.wasInterrupted());
}

LogicalResult emit(FunctionPlan &plan, func::CallOp op) {
  const Arguments &own = plan.arguments;
  Value frame =
      plan.frame.take(plan.module.frames.lookup(op.getCallee()), plan.builder.getI8Type(), op);
  SmallVector<Value> operands{own.packed, frame, own.call, own.thread, own.threads};
  for (StringRef name : plan.module.dims)
    operands.push_back(plan.dim(name));
  for (StringRef name : plan.module.routedOf.lookup(op.getCallee()))
    operands.push_back(plan.arguments.counts.lookup(name));
  for (Value value : op.getOperands()) {
    if (!isa<RankedTensorType>(value.getType())) {
      operands.push_back(plan.scalars.lookup(value));
      continue;
    }
    FailureOr<Value> pointer = passed(plan, op, value);
    if (failed(pointer))
      return failure();
    operands.push_back(*pointer);
  }
  for (Value result : op.getResults())
    operands.push_back(outputOf(plan, result).base);
  func::CallOp::create(plan.builder, op.getLoc(), op.getCallee(), TypeRange(), operands);
  return success();
}

/// Layers go back and forth between two buffers: (in, out, spare) -> (out, spare, out). The first
/// reads the initial value where it lies. Those that may be in place have one buffer, that of the
/// initial value if this is not needed any more.
LogicalResult emit(FunctionPlan &plan, scf::ForOp op) {
  if (failed(copyInFront(plan, op)))
    return failure();
  SmallVector<Value> initial;
  for (auto [i, init] : llvm::enumerate(op.getInitArgs())) {
    if (!isa<RankedTensorType>(init.getType()))
      return op.emitError("expected a loop that carries tensors only");
    FailureOr<Value> pointer = passed(plan, op, init);
    if (failed(pointer))
      return failure();
    Value result = op.getResult(i);
    RankedTensorType type = typeOf(result);
    auto buffer = [&] {
      return allocate(plan, type, lastUse(plan.places, result, op->getBlock())).base;
    };
    bool isLayerInPlace = isInPlace(plan.places, op, i);
    auto place = inPlaceOf(plan, result);
    Value out = isLayerInPlace && place && place->base == *pointer ? *pointer : buffer();
    initial.append({*pointer, out, isLayerInPlace ? out : buffer()});
  }
  auto bound = [&](Value value) { return plan.scalars.lookup(value); };
  auto loop = scf::ForOp::create(plan.builder, op.getLoc(), bound(op.getLowerBound()),
                                 bound(op.getUpperBound()), bound(op.getStep()), initial);
  Block *body = loop.getBody();
  if (initial.empty()) // a loop that only fills caches, which has its end already
    body->back().erase();
  plan.scalars.map(op.getInductionVar(), loop.getInductionVar());
  SmallVector<Value> next;
  {
    OpBuilder::InsertionGuard guard(plan.builder);
    plan.builder.setInsertionPointToEnd(body);
    auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
    for (auto [i, argument] : llvm::enumerate(op.getRegionIterArgs())) {
      Value in = loop.getRegionIterArg(3 * i), out = loop.getRegionIterArg(3 * i + 1),
            spare = loop.getRegionIterArg(3 * i + 2);
      RankedTensorType type = typeOf(argument);
      plan.places.views[argument] = BufferView::dense(type, in, pitchOf(type));
      chooseDestination(plan, yield.getOperand(i), BufferView::dense(type, out, pitchOf(type)));
      next.append({out, spare, out});
    }
    if (failed(emitBlock(plan, *op.getBody())))
      return failure();
    for (auto [i, operand] : llvm::enumerate(yield.getOperands())) {
      RankedTensorType type = typeOf(operand);
      if (failed(deliver(plan, op, operand, BufferView::dense(type, next[3 * i], pitchOf(type)))))
        return failure();
    }
    scf::YieldOp::create(plan.builder, op.getLoc(), next);
  }
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    RankedTensorType type = typeOf(result);
    plan.places.views[result] = BufferView::dense(type, loop.getResult(3 * i), pitchOf(type));
  }
  return success();
}

} // namespace attn::planning
