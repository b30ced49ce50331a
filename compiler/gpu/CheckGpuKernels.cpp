// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What must hold of the kernels stage of a GPU: nothing of the dialect is left in its module, no op
// of math would become a call of a library, and launches fit their kernels.
#include "compiler/gpu/Passes.h"
#include "compiler/kernels/MathBuilder.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace attn {
#define GEN_PASS_DEF_CHECKGPUKERNELSPASS
#include "compiler/gpu/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct CheckGpuKernelsPass : attn::impl::CheckGpuKernelsPassBase<CheckGpuKernelsPass> {
  InFlightDiagnostic fail(Operation *op) {
    signalPassFailure();
    return op->emitError("kernels stage: ");
  }

  WalkResult checkInside(Operation *op) {
    if (isa_and_present<AttnDialect>(op->getDialect())) {
      fail(op) << "'" << op->getName() << "' is left";
      return WalkResult::skip(); // what it contains is left with it
    }
    if (!hasInstructions(op))
      fail(op) << "'" << op->getName() << "' would become a call";
    return WalkResult::advance();
  }

  void checkLaunch(LaunchOp launch, SymbolTableCollection &symbols) {
    auto kernel = symbols.lookupNearestSymbolFrom<gpu::GPUFuncOp>(launch, launch.getKernelAttr());
    if (!kernel) {
      fail(launch) << "a launch of " << launch.getKernelAttr() << ", which is no kernel";
      return;
    }
    size_t arguments = kernel.getNumArguments(), operands = launch.getOperands().size();
    if (operands < arguments)
      fail(launch) << "a launch of '@" << kernel.getName() << "' gives " << operands
                   << " operands, but it has " << arguments << " arguments";
  }

  void runOnOperation() override {
    for (auto module : getOperation().getOps<gpu::GPUModuleOp>())
      module.walk<WalkOrder::PreOrder>([&](Operation *op) { return checkInside(op); });
    SymbolTableCollection symbols;
    getOperation().walk([&](LaunchOp launch) { checkLaunch(launch, symbols); });
    getOperation().walk([&](Operation *op) {
      if (isa<KernelOpInterface>(op) && !op->getParentOfType<gpu::GPUModuleOp>())
        fail(op) << "'" << op->getName() << "' is left";
    });
  }
};

} // namespace
