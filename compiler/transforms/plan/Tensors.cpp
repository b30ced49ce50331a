// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about tensors that need no plan: what is a view, who reads, what converts.
#include "compiler/transforms/plan/Tensors.h"
#include "dialect/Caches.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attn::planning {

int64_t pitchOf(RankedTensorType type) {
  if (type.getRank() < 2)
    return 0;
  int64_t last = type.getShape().back();
  return last >= 1024 && last % 1024 == 0 ? last + 16 : 0;
}

bool isView(Operation *op) { return isa<RelabelOp, SliceOp, RearrangeOp, WindowsOp>(op); }

bool isOfWindows(LinearOp op) {
  Operation *source = op.getInput().getDefiningOp();
  while (source && isView(source)) {
    if (auto windows = dyn_cast<WindowsOp>(source)) {
      ArrayRef<int64_t> shape = typeOf(windows.getResult()).getShape();
      if (ShapedType::getNumElements(shape.take_back(windows.getAxes().size())) > 1)
        return true;
    }
    source = source->getOperand(0).getDefiningOp();
  }
  return false;
}

bool isReadOnlyBy(Value tensor, function_ref<bool(OpOperand &)> isReader) {
  return llvm::all_of(tensor.getUses(), [&](OpOperand &use) {
    return isView(use.getOwner()) ? isReadOnlyBy(use.getOwner()->getResult(0), isReader)
                                  : isReader(use);
  });
}

bool isOnlyAttendedTo(Value tensor) {
  return isReadOnlyBy(tensor, [](OpOperand &use) {
    return isa<AttentionOp>(use.getOwner()) &&
           (use.getOperandNumber() == 1 || use.getOperandNumber() == 2);
  });
}

bool converts(MapOp op, Type half) {
  Block &body = op.getBody().front();
  if (op.getInputs().size() != 1 || !llvm::hasSingleElement(body.without_terminator()) ||
      !isa<arith::ExtFOp, arith::TruncFOp>(body.front()) ||
      axesOf(op.getInputs()[0].getType()) != axesOf(op.getResult().getType()))
    return false;
  Type from = typeOf(op.getInputs()[0]).getElementType(),
       to = typeOf(op.getResult()).getElementType();
  return (from == half && to.isF32()) || (from.isF32() && to == half);
}

bool isOfCache(MapOp op) {
  MLIRContext *context = op.getContext();
  for (Type half : {Type(BFloat16Type::get(context)), Type(Float16Type::get(context))}) {
    if (!converts(op, half))
      continue;
    bool isPushed = op.getResult().hasOneUse() && isa<PushOp>(*op.getResult().user_begin());
    bool isKept =
        isa_and_present<PushOp, KeptOp>(withoutRelabels(op.getInputs()[0]).getDefiningOp()) &&
        isOnlyAttendedTo(op.getResult());
    if (isPushed || isKept)
      return true;
  }
  return false;
}

bool isKernel(Operation *op) {
  auto compute = dyn_cast_if_present<ComputeOpInterface>(op);
  return compute && compute.becomesKernel();
}

} // namespace attn::planning
