// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled: every kernel op becomes a call of a function of its own, named after the layer
// it computes, that holds its loops over tiles for one thread of the team.
#include "compiler/cpu/KernelRemarks.h"
#include "compiler/cpu/Kernels.h"
#include "compiler/cpu/Passes.h"
#include "compiler/transforms/KernelChoice.h"
#include "compiler/transforms/OutlineKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

void TilingContext::forEachUnit(IndexBuilder index, Value units,
                                llvm::function_ref<void(Value)> body) const {
  if (!interleaves) {
    UnitShare share = unitShare(index, units, thread, threads);
    return forLoop(index, share.from, share.to, 1, body);
  }
  auto loop = scf::ForOp::create(index.builder, index.loc, thread, units, threads);
  OpBuilder::InsertionGuard guard(index.builder);
  index.builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

namespace {

struct TilePass : attn::impl::TilePassBase<TilePass> {
  using TilePassBase::TilePassBase;

  FailureOr<std::string> tile(Operation *kernel, const TilingContext &context) {
    return llvm::TypeSwitch<Operation *, FailureOr<std::string>>(kernel)
        .Case([&](LinearKernelOp op) { return tileLinear(op, context); })
        .Case([&](RoundKernelOp op) { return tileRound(op, context); })
        .Case([&](QuantizeKernelOp op) { return tileQuantize(op, context); })
        .Case([&](NormKernelOp op) { return tileNorm(op, context); })
        .Case([&](NormBytesKernelOp op) { return tileNormBytes(op, context); })
        .Case([&](MapKernelOp op) { return tileMap(op, context); })
        .Case([&](MeanKernelOp op) { return tileMean(op, context); })
        .Case([&](LookupKernelOp op) { return tileLookup(op, context); })
        .Case([&](RotaryKernelOp op) { return tileRotary(op, context); })
        .Case([&](AttentionKernelOp op) { return tileAttention(op, context); })
        .Case([&](CombineKernelOp op) { return combineParts(op, context); });
  }

  void runOnOperation() override {
    const CpuTarget *target = CpuTarget::find(level);
    if (!target) {
      getOperation().emitError() << "unknown CPU level '" << level << "'";
      return signalPassFailure();
    }
    SymbolTable symbols(getOperation());
    SmallVector<Operation *> kernels;
    getOperation().walk([&](Operation *op) {
      if (isKernel(op))
        kernels.push_back(op);
    });
    for (Operation *kernel : kernels) {
      OutlinedKernel outlined = outlineKernel(kernel, symbols);
      Operation *inside = outlined.kernel;
      std::string what = describeKernel(inside);
      auto tiles = tile(inside, TilingContext{*target, outlined.worker(), outlined.workers()});
      if (failed(tiles))
        return signalPassFailure();
      remarkTiled(inside, *target, what + "; " + *tiles);
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
