// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernels -> llvm: the list of conversions from vectors, loops and buffers to LLVM's dialect, and
// the two passes that mark modules and functions with layout and CPU.
#include "compiler/emit/LowerToLlvm.h"
#include "compiler/codegen/Codegen.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

namespace attn {
#define GEN_PASS_DEF_SETDATALAYOUTPASS
#define GEN_PASS_DEF_SETLEVELPASS
#include "compiler/emit/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// The level of a pass's option; null after an error has been reported.
static const CpuTarget *findLevel(ModuleOp module, StringRef name) {
  const CpuTarget *level = CpuTarget::find(name);
  if (!level)
    module.emitError() << "unknown CPU level '" << name << "'";
  return level;
}

namespace {

/// Gives functions what is the same for all of a level.
struct SetLevelPass : attn::impl::SetLevelPassBase<SetLevelPass> {
  using SetLevelPassBase::SetLevelPassBase;

  void runOnOperation() override {
    const CpuTarget *level = findLevel(getOperation(), this->level);
    if (!level)
      return signalPassFailure();
    // Constants that levels have in common become one.
    for (auto global : getOperation().getOps<LLVM::GlobalOp>())
      global.setUnnamedAddr(LLVM::UnnamedAddr::Global);
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      function.setNoUnwind(true);
      if (function.isExternal())
        continue;
      function.setTargetCpu(level->cpu);
      if (!level->features.empty())
        function.setTargetFeaturesAttr(
            LLVM::TargetFeaturesAttr::get(&getContext(), level->features));
      if (!level->tune.empty())
        function.setTuneCpu(level->tune);
      // Loops over a few vectors of zeros stay loops.
      function.setPassthroughAttr(Builder(&getContext()).getStrArrayAttr({"no-builtin-memset"}));
      if (!level->vectorWidth.empty())
        function.setPreferVectorWidth(level->vectorWidth);
      if (SymbolTable::getSymbolVisibility(function) == SymbolTable::Visibility::Private)
        function.setLinkage(LLVM::Linkage::Internal);
      // The LLVM dialect's linkage says it now.
      SymbolTable::setSymbolVisibility(function, SymbolTable::Visibility::Public);
    }
  }
};

/// The layout of data comes first: the conversions ask for it.
struct SetDataLayoutPass : attn::impl::SetDataLayoutPassBase<SetDataLayoutPass> {
  using SetDataLayoutPassBase::SetDataLayoutPassBase;

  void runOnOperation() override {
    const CpuTarget *level = findLevel(getOperation(), this->level);
    if (!level)
      return signalPassFailure();
    const CpuArchitecture &architecture = *level->architecture;
    Builder builder(&getContext());
    getOperation()->setAttr(LLVM::LLVMDialect::getTargetTripleAttrName(),
                            builder.getStringAttr(architecture.triple));
    getOperation()->setAttr(LLVM::LLVMDialect::getDataLayoutAttrName(),
                            builder.getStringAttr(dataLayoutOf(architecture)));
  }
};

} // namespace

void attn::buildLowerToLlvm(OpPassManager &passes, const CpuTarget &level,
                            const WrapEntriesPassOptions &entries) {
  SetDataLayoutPassOptions layout;
  layout.level = level.name.str();
  passes.addPass(createSetDataLayoutPass(layout));
  passes.addPass(createLowerRuntimePass());
  // What looks at one function at a time runs on several at once.
  OpPassManager &inside = passes.nest<func::FuncOp>();
  // Views become pointers and offsets, whose affine maps become arithmetic: before loops become
  // branches, all of which a greedy rewrite looks through.
  inside.addPass(memref::createExpandStridedMetadataPass());
  inside.addPass(createLowerAffinePass());
  SCFToControlFlowPassOptions loops;
  loops.allowPatternRollback = false;
  inside.addPass(createSCFToControlFlowPass(loops));
  inside.addPass(createConvertMathToLLVMPass());
  inside.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertToLlvmPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createWrapEntriesPass(entries));
  SetLevelPassOptions functionsOf;
  functionsOf.level = level.name.str();
  passes.addPass(createSetLevelPass(functionsOf));
}
