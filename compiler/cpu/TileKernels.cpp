// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled: every kernel op becomes calls of a function of its own, named after the layer
// it computes, that holds its loops over tiles for one thread of the team and some pieces of the
// work (KernelPieces.h).
#include "compiler/cpu/KernelPieces.h"
#include "compiler/cpu/Passes.h"
#include "compiler/cpu/attention/Attention.h"
#include "compiler/cpu/attention/MaskVerdicts.h"
#include "compiler/cpu/linear/Linear.h"
#include "compiler/kernels/AssumedSizes.h"
#include "compiler/kernels/KernelFacts.h"
#include "compiler/kernels/KernelLoops.h"
#include "compiler/kernels/KernelRemarks.h"
#include "compiler/kernels/TileRows.h"
#include "compiler/transforms/KernelChoice.h"
#include "compiler/transforms/OutlineKernel.h"
#include "dialect/Attributes.h"
#include "dialect/Reasons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attn {
#define GEN_PASS_DEF_TILEPASS
#define GEN_PASS_DEF_CHECKTILEDPASS
#include "compiler/cpu/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct TilePass : attn::impl::TilePassBase<TilePass> {
  using TilePassBase::TilePassBase;

  FailureOr<std::string> tile(Operation *kernel, const CpuTiling &context) {
    return llvm::TypeSwitch<Operation *, FailureOr<std::string>>(kernel)
        .Case([&](LinearKernelOp op) { return tileLinear(op, context); })
        .Case([&](AttentionKernelOp op) { return tileAttention(op, context); })
        .Case([&](CombineKernelOp op) { return combineParts(op, context); })
        .Case([&](RoundKernelOp op) -> std::string {
          return context.target.multipliesPairs() ? tileRows(op, context) : "not needed";
        })
        .Default([&](Operation *op) { return tileRows(op, context); });
  }

  void runOnOperation() override {
    const CpuTarget *target = CpuTarget::find(level);
    if (!target) {
      getOperation().emitError() << "unknown CPU level '" << level << "'";
      return signalPassFailure();
    }
    SymbolTable symbols(getOperation());
    SmallVector<std::pair<Operation *, bool>> kernels; // and whether threads claim pieces
    getOperation().walk([&](Operation *op) {
      if (isKernel(op))
        kernels.push_back({op, isShared(op)});
    });
    for (auto [kernel, areShared] : kernels) {
      StringAttr costName = costOf(kernel);
      OutlinedKernel outlined = outlineKernel(kernel, symbols);
      Operation *inside = outlined.kernel;
      auto cost = costName ? symbols.lookup<CostOp>(costName) : CostOp();
      Pieces pieces = passPieces(outlined, areShared, cost);
      AssumedSizes sizes(outlined);
      KernelFacts facts(inside);
      StringRef kind = inside->getName().stripDialect();
      kind.consume_back("_kernel");
      facts.add("kind", kind);
      if (costName)
        facts.add("cost", costName.getValue());
      std::string what = describeKernel(inside);
      auto tiles = tile(inside, CpuTiling(*target, outlined.worker(), outlined.workers(), pieces));
      if (failed(tiles))
        return signalPassFailure();
      if (wantsReasons(inside))
        facts.add("loops", describeLoops(outlined.function, inside));
      remarkTiled(inside, target->name, what + "; " + *tiles);
      if (Attribute share = inside->getAttr(attributes::liveShare); share && cost)
        cost->setAttr(attributes::liveShare, share);
      inside->erase();
    }
    dropChoices(getOperation()); // the code is what became of them
  }
};

struct CheckTiledPass : attn::impl::CheckTiledPassBase<CheckTiledPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (!isKernel(op))
        return;
      op->emitError("tiled stage: a kernel is left that was not tiled");
      signalPassFailure();
    });
  }
};

} // namespace
