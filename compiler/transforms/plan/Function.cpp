// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function on tensors -> one on pointers, op by op.
#include "compiler/transforms/plan/Function.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/DataFlow.h"
#include "compiler/transforms/plan/InPlace.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"
#include "compiler/transforms/plan/Route.h"
#include "dialect/Attributes.h"
#include "dialect/Caches.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attn::planning {

/// The function on pointers, with an entry block and no ops, before `source`.
static func::FuncOp createFunction(ModulePlan &module, func::FuncOp source) {
  OpBuilder builder(source);
  Type byte = MemRefType::get({}, builder.getI8Type()), index = builder.getIndexType();
  auto pointer = [&](Type tensor) {
    return MemRefType::get({}, module.stored(cast<RankedTensorType>(tensor).getElementType()));
  };
  SmallVector<Type> types{byte, byte, byte, index, index};
  types.append(module.dims.size(), index);
  types.append(module.routedIn(source).size(), MemRefType::get({}, builder.getI32Type()));
  for (Type type : source.getArgumentTypes())
    types.push_back(isa<RankedTensorType>(type) ? pointer(type) : type);
  for (Type type : source.getResultTypes())
    types.push_back(pointer(type));
  auto target = func::FuncOp::create(builder, source.getLoc(), source.getSymName(),
                                     builder.getFunctionType(types, {}));
  if (source->hasAttr(attributes::entry))
    target->setAttr(attributes::entry, builder.getUnitAttr());
  if (Attribute rows = source->getAttr(attributes::rows))
    target->setAttr(attributes::rows, rows);
  target.setPrivate();
  target.addEntryBlock();
  return target;
}

Arguments::Arguments(const ModulePlan &module, func::FuncOp target, ArrayRef<StringRef> routed,
                     unsigned results) {
  ArrayRef<BlockArgument> all = target.getArguments();
  packed = all[0], workspace = all[1], call = all[2], thread = all[3], threads = all[4];
  own = all.drop_front(5);
  for (StringRef name : module.dims)
    dims[name] = own.front(), own = own.drop_front();
  for (StringRef name : routed)
    counts[name] = own.front(), own = own.drop_front();
  this->results = own.take_back(results);
  own = own.drop_back(results);
}

FunctionPlan::FunctionPlan(ModulePlan &module, func::FuncOp source)
    : module(module), source(source), target(createFunction(module, source)), loc(source.getLoc()),
      builder(OpBuilder::atBlockBegin(&target.getBody().front())),
      arguments(module, target, module.routedIn(source), source.getNumResults()),
      frame(builder, target, arguments.workspace,
            [&module](const SizePolynomial &bytes) { return module.withMostRows(bytes); }) {
  for (StringRef name : module.routedIn(source))
    arguments.dims[name] = rowsAt(*this, name, arguments.counts[name]);
  for (auto [tensor, argument] : llvm::zip_equal(source.getArguments(), arguments.own))
    if (isa<RankedTensorType>(tensor.getType()))
      places.views[tensor] = laidOut(*this, tensor.getType(), argument);
    else
      scalars.map(tensor, argument);
}

/// What is no tensor is computed as it stands.
static LogicalResult emitScalar(FunctionPlan &plan, Operation *op) {
  if (isa<arith::ConstantOp>(op) && isa<TensorType>(op->getResult(0).getType()))
    return success(); // of scores, which get their own
  if (!isMemoryEffectFree(op) || op->getNumRegions() != 0 ||
      llvm::any_of(op->getResultTypes(), [](Type type) { return isa<TensorType>(type); }))
    return op->emitError("memory stage: an op that has no place in a buffer");
  plan.builder.clone(*op, plan.scalars);
  return success();
}

static LogicalResult emitOp(FunctionPlan &plan, Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<LinearOp, NormOp, MapOp, ReduceOp, SoftmaxOp, TopkOp, LookupOp, PickOp, RotaryOp,
            AttentionOp, ConcatOp, PadOp, TableOp, PushOp, KeptOp, RouteOp, ScanOp, func::CallOp,
            scf::ForOp, ByRowOp>([&](auto op) { return emit(plan, op); })
      .Case<RelabelOp, SliceOp, RearrangeOp, WindowsOp>(
          [&](Operation *view) { return emitView(plan, view); })
      .Case([&](GetOp) { return success(); })
      .Case([&](SizeOp size) {
        plan.scalars.map(size.getResult(), plan.dim(size.getDim()));
        return success();
      })
      .Default([&](Operation *other) { return emitScalar(plan, other); });
}

LogicalResult emitBlock(FunctionPlan &plan, Block &block) {
  chooseParts(plan.places, block);
  for (Operation &op : block.without_terminator()) {
    if (failed(emitOp(plan, op)))
      return failure();
    if (plan.frame.hasUsedReleased())
      return op.emitError("memory stage: a buffer is used after it was released");
    plan.frame.releaseAfter(&op);
  }
  return success();
}

LogicalResult planFunction(ModulePlan &module, func::FuncOp source) {
  FunctionPlan plan(module, source);
  Block &block = source.getBody().front();
  auto result = cast<func::ReturnOp>(block.getTerminator());
  chooseInPlace(plan, block);
  auto placeOf = [&](size_t i) {
    return laidOut(plan, result.getOperand(i).getType(), plan.arguments.results[i]);
  };
  for (auto [i, operand] : llvm::enumerate(result.getOperands()))
    chooseDestination(plan, operand, placeOf(i));
  if (failed(emitBlock(plan, block)))
    return failure();
  for (auto [i, operand] : llvm::enumerate(result.getOperands()))
    if (failed(deliver(plan, result, operand, placeOf(i))))
      return failure();
  recordInPlace(plan, result);
  func::ReturnOp::create(plan.builder, result.getLoc());
  if (module.op->hasAttr(attributes::sizes))
    describeFlow(plan);
  module.frames[source.getSymName()] =
      plan.frame.resolve([&](StringRef name) { return plan.dim(name); });
  return success();
}

} // namespace attn::planning
