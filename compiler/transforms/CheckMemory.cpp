// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of the memory stage: no tensor is left, and no kernel writes what it reads. Threads run a
// kernel's parts in any order, so a buffer that is written may hold what is read only where each
// element is read at its own place, just before it is written there:
//
//   map_kernel (%a, %b) into %a          the same bytes, in the same order: allowed
//   map_kernel (%a transposed) into %a   refused
//
// Buffers at different places of the workspace, and what functions are given, are different memory.
// Windows of one buffer, such as the parts of a concat, have to be shown not to overlap.
#include "compiler/transforms/Footprint.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attn {
#define GEN_PASS_DEF_CHECKMEMORYPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Whether each element of `read` is needed for nothing but the element of `written` at its place.
bool isReadAtItsPlace(Operation *op, OpOperand &read) {
  if (isa<MapKernelOp>(op))
    return true;
  auto linear = dyn_cast<LinearKernelOp>(op);
  return linear && linear.getInPlace() && llvm::is_contained(linear.getCaptures(), read.get());
}

struct CheckMemoryPass : attn::impl::CheckMemoryPassBase<CheckMemoryPass> {
  LogicalResult checkOverlaps(Operation *op) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects)
      return success();
    Footprints footprints;
    SmallVector<MemoryEffects::EffectInstance> all;
    effects.getEffects(all);
    for (MemoryEffects::EffectInstance &effect : all) {
      auto *written = effect.getEffectValue<OpOperand *>();
      if (!written || !isa<MemoryEffects::Write>(effect.getEffect()))
        continue;
      Footprint place = footprints.of(written->get());
      for (OpOperand &other : op->getOpOperands()) {
        if (&other == written || !isa<MemRefType>(other.get().getType()))
          continue;
        Footprint own = footprints.of(other.get());
        if (own.isElsewhere(place) || areDisjoint(place, own) ||
            (own == place && isReadAtItsPlace(op, other)))
          continue;
        return op->emitError("memory stage: operand ")
               << written->getOperandNumber() << " is written where operand "
               << other.getOperandNumber() << " is read";
      }
    }
    return success();
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto result = function.walk([&](Operation *op) {
        for (Type type : op->getResultTypes()) // vectors inside a score have no place
          if (isa<TensorType>(type) && !isa<arith::ConstantOp>(op) &&
              !op->getParentOfType<AttentionKernelOp>()) {
            op->emitError("memory stage: a tensor is left that has no place");
            return WalkResult::interrupt();
          }
        return WalkResult(checkOverlaps(op));
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
  }
};

} // namespace
