// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is left of a module when loops are branches and vectors are LLVM's, to LLVM's dialect.
#include "compiler/emit/Passes.h"
#include "mlir/Analysis/DataLayoutAnalysis.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace attn {
#define GEN_PASS_DEF_CONVERTTOLLVMPASS
#include "compiler/emit/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct ConvertToLlvmPass : attn::impl::ConvertToLlvmPassBase<ConvertToLlvmPass> {
  using ConvertToLlvmPassBase::ConvertToLlvmPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const auto &layouts = getAnalysis<DataLayoutAnalysis>();
    LowerToLLVMOptions options(&getContext(), layouts.getAtOrAbove(module));
    options.useBarePtrCallConv = true;
    LLVMTypeConverter types(&getContext(), options, &layouts);
    RewritePatternSet patterns(&getContext());
    SymbolTableCollection symbols;
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    index::populateIndexToLLVMConversionPatterns(types, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(types, patterns, &symbols);
    populateFuncToLLVMConversionPatterns(types, patterns, &symbols);
    ub::populateUBToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(getContext());
    ConversionConfig config;
    config.allowPatternRollback = false; // which would record every change first
    if (failed(applyPartialConversion(module, target, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
