// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: attn-opt %s -attn-check-gpu-kernels -split-input-file -verify-diagnostics

gpu.module @attn_kernels {
  gpu.func @k(%x: memref<8xf32>, %y: memref<8xf32>) kernel {
    // expected-error@+1 {{kernels stage: 'attn.rotary_row' is left}}
    attn.rotary_row %x by %x, %x into %y : memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>
    gpu.return
  }
}

// -----

gpu.module @attn_kernels {
  gpu.func @k(%x: f32) kernel {
    // expected-error@+1 {{kernels stage: 'math.exp' would become a call}}
    %y = math.exp %x : f32
    gpu.return
  }
}

// -----

func.func @run(%x: memref<f32>) {
  // expected-error@+1 {{kernels stage: a launch of @attn_kernels::@k, which is no kernel}}
  attn.launch @attn_kernels::@k(%x) number 0 : (memref<f32>)
  return
}

// -----

func.func @run(%x: memref<8x8xf32>) {
  // expected-error@+1 {{kernels stage: 'attn.map_kernel' is left}}
  attn.map_kernel (%x) into %x : (memref<8x8xf32>), memref<8x8xf32> {
  ^bb0(%a: f32):
    attn.yield %a : f32
  }
  return
}
