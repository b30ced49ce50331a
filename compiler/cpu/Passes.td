// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that know the CPU level. Order and reasons: compiler/Pipeline.cpp.
#ifndef ATTN_CPU_PASSES_TD
#define ATTN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

class CpuPass<string name> : Pass<name, "mlir::ModuleOp"> {
  let options = [Option<"level", "level", "std::string", "\"x86-64-v4\"", "the CPU level, as --target names it">];
  let dependentDialects = ["attn::AttnDialect", "mlir::arith::ArithDialect", "mlir::scf::SCFDialect", "mlir::memref::MemRefDialect",
                           "mlir::vector::VectorDialect", "mlir::math::MathDialect", "mlir::LLVM::LLVMDialect", "mlir::func::FuncDialect",
                           "mlir::ub::UBDialect"];
}

def TilePass : CpuPass<"attn-tile"> {
  let summary = "memory -> tiled: a function per kernel, with its loops, its parallelism and its tiles";
}

def CheckTiledPass : Pass<"attn-check-tiled", "mlir::ModuleOp"> {
  let summary = "fails if a kernel is left that was not tiled";
}

def VectorizePass : CpuPass<"attn-vectorize"> {
  let summary = "tiled -> kernels: tiles become vector code";
}

def ExpandMathPass : CpuPass<"attn-expand-math"> {
  let summary = "exp, exp2, erf, tanh and the like on vectors become polynomials, with stated errors";
}

def CheckKernelsPass : Pass<"attn-check-kernels", "mlir::ModuleOp"> {
  let summary = "fails if a tile is left, or a call into libm; remarks where an element-wise function runs element by element";
}

#endif // ATTN_CPU_PASSES_TD
