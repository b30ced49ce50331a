// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that know the GPU. Order and reasons: compiler/gpu/README.md.
#ifndef ATTN_GPU_PASSES_TD
#define ATTN_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def GpuKernelsPass : Pass<"attn-gpu-kernels", "mlir::ModuleOp"> {
  let summary = "memory -> kernels: every kernel becomes a gpu.func, which is launched where it was";
  let options = [Option<"chip", "chip", "std::string", "\"sm_80\"", "what the code is for: sm_80 or sm_90a">,
                 Option<"tf32", "tf32", "bool", "false", "linears of f32 are multiplied on tensor cores, rounded to tf32">,
                 Option<"watchdog", "watchdog", "bool", "false", "waits that do not end trap, and say where">,
                 Option<"overlap", "overlap", "bool", "false", "kernels are launched before those that they wait for have ended">,
                 Option<"bulkStores", "bulk-stores", "bool", "false", "Hopper's linears store by the copy engine">,
                 Option<"multiprocessors", "multiprocessors", "int64_t", "132", "that tiles should keep busy">];
  let dependentDialects = ["attn::AttnDialect", "mlir::arith::ArithDialect", "mlir::scf::SCFDialect", "mlir::memref::MemRefDialect",
                           "mlir::vector::VectorDialect", "mlir::math::MathDialect", "mlir::gpu::GPUDialect", "mlir::NVVM::NVVMDialect", "mlir::LLVM::LLVMDialect"];
}

#endif // ATTN_GPU_PASSES_TD
