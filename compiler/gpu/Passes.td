// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that know the GPU. Order and reasons: compiler/gpu/README.md.
#ifndef ATTN_GPU_PASSES_TD
#define ATTN_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def GpuKernelsPass : Pass<"attn-gpu-kernels", "mlir::ModuleOp"> {
  let summary = "memory -> kernels: every kernel becomes a gpu.func, which is launched where it was";
  let description = [{
    The function of the entry stays on the host, where each kernel becomes a launch. On the GPU, the
    kernel's work is divided among warps or blocks of threads, as among threads on a CPU.

    `attn-opt -attn-gpu-kernels -canonicalize -cse` turns

    ```mlir
    !rows = memref<100x64xf32, strided<[64, 1]>>
    !row = memref<64xf32, strided<[1], offset: ?>>
    func.func @run(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index,
                   %threads: index, %in: memref<f32>, %to: memref<f32>) {
      %x = memref.reinterpret_cast %in to offset: [0], sizes: [100, 64], strides: [64, 1]
        : memref<f32> to !rows
      %y = memref.reinterpret_cast %to to offset: [0], sizes: [100, 64], strides: [64, 1]
        : memref<f32> to !rows
      attn.map_kernel (%x) into %y : (!rows), !rows {
      ^bb0(%a: f32):
        %r = arith.negf %a : f32
        attn.yield %r : f32
      }
      return
    }
    ```

    into

    ```mlir
    func.func @run(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index,
                   %threads: index, %in: memref<f32>, %to: memref<f32>) {
      attn.launch @attn_kernels::@run_map_kernel(%in, %to) number 0 : (memref<f32>, memref<f32>)
      return
    }
    gpu.module @attn_kernels [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx80">] {
      gpu.func @run_map_kernel(%x: memref<f32>, %y: memref<f32>) kernel attributes ... {
        ...
        %lane = gpu.thread_id x
        %warp = arith.divui %lane, %c32 : index
        ...
        scf.for %row = %first to %c100 step %warps {
          ...
          scf.for %column = %begin to %c64 step %c32 {
            %a = memref.load %xi[%column] : !row
            %r = arith.negf %a : f32
            memref.store %r, %yi[%column] : !row
          }
        }
        gpu.return
      }
    }
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_80\"", "a chip of compiler/target/GpuTarget.cpp">,
                 Option<"watchdog", "watchdog", "bool", "false", "waits that do not end trap, and say where">,
                 Option<"overlap", "overlap", "bool", "false", "kernels are launched before those that they wait for have ended">,
                 Option<"bulkStores", "bulk-stores", "bool", "false", "Hopper's linears store by the copy engine">,
                 Option<"multiprocessors", "multiprocessors", "int64_t", "132", "that tiles should keep busy">];
  let dependentDialects = ["attn::AttnDialect", "mlir::arith::ArithDialect", "mlir::scf::SCFDialect", "mlir::memref::MemRefDialect",
                           "mlir::vector::VectorDialect", "mlir::math::MathDialect", "mlir::gpu::GPUDialect", "mlir::NVVM::NVVMDialect", "mlir::LLVM::LLVMDialect"];
}

def CheckGpuKernelsPass : Pass<"attn-check-gpu-kernels", "mlir::ModuleOp"> {
  let summary = "checks that nothing of the dialect is left on the GPU, that nothing would be a call, and that launches fit their kernels";
  let description = [{
    What the GPU's module holds becomes PTX as it is. A launch gives each argument of its kernel, then
    words that describe tensors.

    `attn-opt -attn-check-gpu-kernels` refuses

    ```mlir
    gpu.module @attn_kernels {
      gpu.func @k(%x: memref<f32>, %y: memref<f32>) kernel {
        gpu.return
      }
    }
    func.func @run(%x: memref<f32>) {
      attn.launch @attn_kernels::@k(%x) number 0 : (memref<f32>)
      return
    }
    ```

    with

    ```text
    error: kernels stage: a launch of '@k' gives 1 operands, but it has 2 arguments
    ```
  }];
}

#endif // ATTN_GPU_PASSES_TD
