// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The target-independent passes. Order and reasons: compiler/Pipeline.cpp.
#ifndef ATTN_PASSES_TD
#define ATTN_PASSES_TD

include "mlir/Pass/PassBase.td"

def SinkMapPass : Pass<"attn-sink-map", "mlir::func::FuncOp"> {
  let summary = "moves element-wise maps above concats so that they meet their producers, and slices above what need not be computed in full";
  let dependentDialects = ["attn::AttnDialect"];
}

def NarrowStackPass : Pass<"attn-narrow-stack", "mlir::ModuleOp"> {
  let summary = "computes only what is read of a stack's last layer";
  let dependentDialects = ["attn::AttnDialect", "mlir::arith::ArithDialect"];
}

def MergeArgumentsPass : Pass<"attn-merge-arguments", "mlir::ModuleOp"> {
  let summary = "a function takes a tensor once that it gets several times in every call; one that is called once becomes part of its caller";
  let dependentDialects = ["attn::AttnDialect"];
}

def PackProjectionsPass : Pass<"attn-pack-projections", "mlir::func::FuncOp"> {
  let summary = "makes one linear of those that read the same tensor: q, k and v in one product";
  let dependentDialects = ["attn::AttnDialect"];
}

def FuseEpiloguePass : Pass<"attn-fuse-epilogue", "mlir::func::FuncOp"> {
  let summary = "puts the element-wise map after a linear into its epilogue: activation, residual, position";
  let dependentDialects = ["attn::AttnDialect"];
}

def FuseNormPass : Pass<"attn-fuse-norm", "mlir::func::FuncOp"> {
  let summary = "attaches a layer norm to the one linear that reads it";
  let dependentDialects = ["attn::AttnDialect"];
}

def CheckFusedPass : Pass<"attn-check-fused", "mlir::func::FuncOp"> {
  let summary = "fails if an op that the fused stage cannot hold is left";
}

def PlanMemoryPass : Pass<"attn-plan-memory", "mlir::ModuleOp"> {
  let summary = "fused -> memory: every tensor gets a place in the workspace, every parameter one in the packed block";
  let options = [Option<"attention", "attention", "std::string", "", "how attentions are lowered that can be: strip, online or unfused">,
                 Option<"precision", "precision", "std::string", "\"f32\"", "the precision of linears: f32, tf32, bf16, f16, int8 or int4">,
                 Option<"targets", "targets", "std::string", "\"x86-64-v4\"", "the CPU levels that share the plan, or GPUs, joined by commas: where precision is reduced, what one of them multiplies by pairs is rounded to bf16, and what all of them only multiply is kept so">];
  let dependentDialects = ["attn::AttnDialect", "mlir::arith::ArithDialect", "mlir::memref::MemRefDialect"];
}

def CheckMemoryPass : Pass<"attn-check-memory", "mlir::ModuleOp"> {
  let summary = "fails if a tensor is left that has no place, or a kernel may write what it reads";
}

#endif // ATTN_PASSES_TD
