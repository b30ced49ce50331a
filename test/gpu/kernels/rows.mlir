// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: attn-opt %s -attn-gpu-kernels=chip=sm_80 -canonicalize -cse -attn-check-gpu-kernels | FileCheck %s

// A warp has rows, its lanes neighbouring columns; what lanes have summed is exchanged by shuffles.
// CHECK-LABEL: func.func @run
// CHECK: attn.launch @attn_kernels::@run_norm_kernel(%{{.*}}) number 0
// CHECK: gpu.func @run_norm_kernel
// CHECK: %[[LANE:.*]] = gpu.thread_id x
// CHECK: arith.divui %[[LANE]], %c32
// CHECK: scf.for
// CHECK: llvm.fma
// CHECK: gpu.shuffle xor
// CHECK: sqrt
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
!rows = memref<100x64xf32, strided<[64, 1]>>
!row = memref<64xf32, strided<[1]>>
func.func @run(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %in: memref<f32>, %g: memref<f32>, %to: memref<f32>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [100, 64], strides: [64, 1] : memref<f32> to !rows
  %w = memref.reinterpret_cast %g to offset: [0], sizes: [64], strides: [1] : memref<f32> to !row
  %y = memref.reinterpret_cast %to to offset: [0], sizes: [100, 64], strides: [64, 1] : memref<f32> to !rows
  attn.norm_kernel %x weight %w into %y <rms, eps = 1.0e-6> : !rows weight !row into !rows
  return
}
