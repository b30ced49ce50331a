// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory: results that take the place of an operand that nothing reads later. A linear's
// takes that of a capture, its residual: each element is read just before it is written. So a
// residual stream stays where it is, and in the caches, through a block, through a call of one
// (ModulePlan::inPlace), and through a stack of them.
#include "compiler/transforms/PlanMemoryImpl.h"
#include "compiler/transforms/TargetModel.h"

using namespace mlir;
using namespace attn;

bool FunctionPlan::hasOwnBuffers(Operation *op) {
  if (auto map = dyn_cast<MapOp>(op))
    return !isInPlace(map);
  // A concat's parts may lie in its result.
  if (auto concat = dyn_cast<ConcatOp>(op))
    return llvm::all_of(concat.getInputs(), [&](Value input) {
      return isReadOnlyBy(rootOf(input), [&](OpOperand &use) { return use.getOwner() == op; });
    });
  return isa<LinearOp, NormOp, ReduceMeanOp, RotaryOp, AttentionOp, func::CallOp, scf::ForOp>(op);
}

bool FunctionPlan::isLastReader(OpOperand &last) {
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
           hasOwnBuffers(user);
  };
  return isReadOnlyBy(rootOf(last.get()), isBefore);
}

/// Whether a linear keeps sums of parts of k in its result's place, on some machine.
static bool keepsSums(LinearOp op, Precision precision, bool onlyTiles) {
  int64_t k = 1;
  for (int64_t size : typeOf(op.getInput()).getShape().take_back(op.getContract()))
    k *= size;
  if (onlyTiles && (precision == Precision::Int8 || precision == Precision::BF16))
    return false;
  return k > TargetModel::partDepth * (takesBytes(precision) ? TargetModel::floatBytes : 1);
}

void FunctionPlan::chooseInPlace(Value result, OpOperand &operand) {
  Value root = rootOf(operand.get());
  Operation *source = root.getDefiningOp();
  bool isTaken = // by another result of a call
      llvm::any_of(inPlace, [&](auto &other) { return rootOf(other.second) == root; });
  if (!isTaken && operand.get().getType() == result.getType() &&
      root.getParentBlock() == result.getParentBlock() && (!source || hasOwnBuffers(source)) &&
      isLastReader(operand))
    inPlace[result] = operand.get();
}

Value FunctionPlan::beginningOf(Value tensor) {
  Value root = rootOf(tensor);
  while (Value operand = inPlace.lookup(root))
    root = rootOf(operand);
  return root;
}

void FunctionPlan::chooseInPlace(Block &block) {
  if (plan.isGpu())
    return;
  for (Operation &op : block) {
    if (auto linear = dyn_cast<LinearOp>(op)) {
      if (!keepsSums(linear, precisionOf(linear), plan.targets.allLevelsHaveTiles()))
        for (OpOperand &capture : linear.getCapturesMutable())
          if (!inPlace.count(linear.getResult()))
            chooseInPlace(linear.getResult(), capture);
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      for (auto [result, argument] : plan.inPlace.lookup(call.getCallee()))
        chooseInPlace(call.getResult(result), call->getOpOperand(argument));
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      chooseInPlace(*loop.getBody());
      for (auto [result, initial] : llvm::zip_equal(loop.getResults(), loop.getInitArgsMutable()))
        if (isInPlace(loop, result.getResultNumber()))
          chooseInPlace(result, initial);
    }
  }
}

bool FunctionPlan::isInPlace(scf::ForOp loop, size_t carried) {
  Value yielded = loop.getBody()->getTerminator()->getOperand(carried);
  return beginningOf(yielded) == loop.getRegionIterArg(carried);
}

void FunctionPlan::recordInPlace(func::ReturnOp op) {
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    auto argument = dyn_cast<BlockArgument>(beginningOf(operand));
    if (argument && argument != rootOf(operand) && argument.getType() == operand.getType())
      plan.inPlace[source.getSymName()].push_back({number, argument.getArgNumber()});
  }
}

std::optional<BufferView> FunctionPlan::inPlaceOf(Value result) {
  Value operand = inPlace.lookup(result);
  if (!operand || isa<BlockArgument>(rootOf(operand)))
    return std::nullopt;
  BufferView view = viewOf(operand);
  RankedTensorType type = typeOf(result);
  if (view.element() != plan.stored(type.getElementType()) ||
      !view.liesLike(BufferView::dense(type, view.base, pitchOf(type))))
    return std::nullopt;
  return view;
}
