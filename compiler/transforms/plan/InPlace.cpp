// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results that take the place of an operand that nothing reads later.
#include "compiler/transforms/plan/InPlace.h"
#include "compiler/transforms/TargetModel.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Elements.h"

using namespace mlir;

namespace attn::planning {

bool isInPlace(FunctionPlan &plan, MapOp op) {
  if (isOfCache(op))
    return true;
  Type half = plan.module.keptHalf();
  if (!half || !converts(op, half))
    return false;
  Value input = op.getInputs()[0], result = op.getResult();
  auto known = plan.places.destinations.find(result);
  if (typeOf(result).getElementType() == half)
    return known != plan.places.destinations.end() &&
           viewOf(plan, input).base == known->second.base;
  return isa<BlockArgument>(input) && known == plan.places.destinations.end() &&
         !plan.places.partOf.count(result) && plan.module.isOnlyMultiplied(result);
}

/// Whether an op's results lie in buffers that are no other tensor's.
static bool hasOwnBuffers(FunctionPlan &plan, Operation *op) {
  if (auto map = dyn_cast<MapOp>(op))
    return !isInPlace(plan, map);
  // A concat's parts may lie in its result, and what is padded in the pad's.
  if (isa<ConcatOp, PadOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value input) {
      return isReadOnlyBy(withoutRelabels(input),
                          [&](OpOperand &use) { return use.getOwner() == op; });
    });
  return isKernel(op) || isa<func::CallOp, scf::ForOp>(op);
}

/// Whether nothing reads the operand's tensor, or a view of it, at the same time or later.
static bool isLastReader(FunctionPlan &plan, OpOperand &last) {
  Operation *op = last.getOwner();
  auto isBefore = [&](OpOperand &use) {
    if (&use == &last)
      return true;
    Operation *user = use.getOwner();
    if (user == op) { // a norm of its input is a kernel of its own, which comes first
      auto linear = dyn_cast<LinearOp>(user);
      return linear && linear.getNorm() && use.getOperandNumber() == 0;
    }
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
    // Not what may lie in the same place: a loop that it is carried into and that has no turns.
    return ancestor == user && user->isBeforeInBlock(op) && !isa<scf::ForOp>(user) &&
           hasOwnBuffers(plan, user);
  };
  return isReadOnlyBy(withoutRelabels(last.get()), isBefore);
}

/// Whether a linear keeps sums of parts of k in its result's place, on some machine.
static bool keepsSums(LinearOp op, Precision precision, bool onlyTiles) {
  int64_t k = 1;
  for (int64_t size : typeOf(op.getInput()).getShape().take_back(op.getContract()))
    k *= size;
  if (onlyTiles && (precision == Precision::Int8 || precision == Precision::BF16))
    return false;
  return k >
         TargetModel::partDepth * (formatOf(precision).takesBytes() ? TargetModel::floatBytes : 1);
}

/// Lets a result take the place of an operand, if it can.
static void chooseInPlace(FunctionPlan &plan, Value result, OpOperand &operand) {
  Value root = withoutRelabels(operand.get());
  Operation *source = root.getDefiningOp();
  bool isTaken = // by another result of a call
      llvm::any_of(plan.places.inPlace,
                   [&](auto &other) { return withoutRelabels(other.second) == root; });
  if (!isTaken && operand.get().getType() == result.getType() &&
      root.getParentBlock() == result.getParentBlock() &&
      (!source || hasOwnBuffers(plan, source)) && isLastReader(plan, operand))
    plan.places.inPlace[result] = operand.get();
}

/// The first of the tensors each of which may have the place of the one before.
static Value beginningOf(const Places &places, Value tensor) {
  Value root = withoutRelabels(tensor);
  while (Value operand = places.inPlace.lookup(root))
    root = withoutRelabels(operand);
  return root;
}

bool isInPlace(const Places &places, scf::ForOp loop, size_t carried) {
  Value yielded = loop.getBody()->getTerminator()->getOperand(carried);
  return beginningOf(places, yielded) == loop.getRegionIterArg(carried);
}

void chooseInPlace(FunctionPlan &plan, Block &block) {
  if (!plan.module.placement().worksInPlace)
    return;
  for (Operation &op : block) {
    if (auto linear = dyn_cast<LinearOp>(op)) {
      if (!keepsSums(linear, precisionOf(plan.module, linear),
                     plan.module.targets.allLevelsHaveTiles()))
        for (OpOperand &capture : linear.getCapturesMutable())
          if (!plan.places.inPlace.count(linear.getResult()))
            chooseInPlace(plan, linear.getResult(), capture);
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      for (auto [result, argument] : plan.module.inPlace.lookup(call.getCallee()))
        chooseInPlace(plan, call.getResult(result), call->getOpOperand(argument));
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      chooseInPlace(plan, *loop.getBody());
      for (auto [result, initial] : llvm::zip_equal(loop.getResults(), loop.getInitArgsMutable()))
        if (isInPlace(plan.places, loop, result.getResultNumber()))
          chooseInPlace(plan, result, initial);
    }
  }
}

void recordInPlace(FunctionPlan &plan, func::ReturnOp op) {
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    auto argument = dyn_cast<BlockArgument>(beginningOf(plan.places, operand));
    if (argument && argument != withoutRelabels(operand) && argument.getType() == operand.getType())
      plan.module.inPlace[plan.source.getSymName()].push_back({number, argument.getArgNumber()});
  }
}

std::optional<BufferView> inPlaceOf(FunctionPlan &plan, Value result) {
  Value operand = plan.places.inPlace.lookup(result);
  if (!operand || isa<BlockArgument>(withoutRelabels(operand)))
    return std::nullopt;
  BufferView view = viewOf(plan, operand);
  RankedTensorType type = typeOf(result);
  if (view.element() != plan.module.stored(type.getElementType()) ||
      !view.liesLike(BufferView::dense(type, view.base, pitchOf(type))))
    return std::nullopt;
  return view;
}

} // namespace attn::planning
