// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What must hold of the kernels stage: no tile is left, nothing calls libm.
#include "compiler/cpu/Passes.h"
#include "compiler/kernels/KernelRemarks.h"
#include "compiler/kernels/MathBuilder.h"
#include "dialect/AttnDialect.h"
#include "dialect/Caches.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

namespace attn {
#define GEN_PASS_DEF_CHECKKERNELSPASS
#include "compiler/cpu/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Kernels, their tiles, and whatever else of the dialect no later pass takes away.
static bool isLeftOver(Operation *op) {
  return isa_and_present<AttnDialect>(op->getDialect()) && op->getParentOfType<func::FuncOp>() &&
         !isa<AddressOp, CachePlaceOp, BarrierOp, ClaimOp, RowsOp, RowCountOp, RowCallOp, RowSizeOp,
              ShiftOp>(op);
}

/// Integer divisions, which x86 has for single numbers only. By a constant, LLVM multiplies.
static bool isVectorDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op) &&
         isa<VectorType>(op->getResult(0).getType()) &&
         !matchPattern(op->getOperand(1), m_Constant());
}

namespace {

struct CheckKernelsPass : attn::impl::CheckKernelsPassBase<CheckKernelsPass> {
  WalkResult check(Operation *op) {
    if (isLeftOver(op)) {
      op->emitError() << "kernels stage: '" << op->getName() << "' is left";
      signalPassFailure();
      return WalkResult::skip(); // what it contains is left with it
    }
    if (!hasInstructions(op)) {
      op->emitError() << "kernels stage: '" << op->getName() << "' would become a call of libm";
      signalPassFailure();
    }
    if (isVectorDivision(op))
      remarkScalar(op, "", "vectors have no integer division");
    return WalkResult::advance();
  }

  void runOnOperation() override {
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) { return check(op); });
  }
};

} // namespace
