// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the llvm stage that are Attn's own. Order and reasons: LowerToLlvm.cpp.
#ifndef ATTN_EMIT_PASSES_TD
#define ATTN_EMIT_PASSES_TD

include "mlir/Pass/PassBase.td"

def SetDataLayoutPass : Pass<"attn-set-data-layout", "mlir::ModuleOp"> {
  let summary = "the module gets its triple and layout";
  let options = [Option<"level", "level", "std::string", "\"x86-64-v3\"", "the CPU level">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def LowerRuntimePass : Pass<"attn-lower-runtime", "mlir::ModuleOp"> {
  let summary = "places in the packed block become arithmetic, barriers become calls; what only they refer to is dropped";
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::LLVM::LLVMDialect", "mlir::memref::MemRefDialect"];
}

def WrapEntriesPass : Pass<"attn-wrap-entries", "mlir::ModuleOp"> {
  let summary = "entries get functions with the signatures that the runtime calls";
  let options = [ListOption<"dims", "dims", "int64_t", "positions of the dynamic dims within attn_abi_call.dims">,
                 ListOption<"entries", "entries", "std::string", "NAME:INPUTS:OUTPUTS of each entry">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def SetLevelPass : Pass<"attn-set-level", "mlir::ModuleOp"> {
  let summary = "functions get the CPU of a level; private ones become internal";
  let options = [Option<"level", "level", "std::string", "\"x86-64-v3\"", "the CPU level">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

#endif // ATTN_EMIT_PASSES_TD
