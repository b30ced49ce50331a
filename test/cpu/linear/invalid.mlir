// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-tile=level=x86-64-v4 -attn-vectorize=level=x86-64-v4

func.func @contract(%in: memref<4x64xf32>, %panels: memref<3072xf32>, %out: memref<4x48xf32>, %i: index) {
  // expected-error @+1 {{expected to contract 1 to 1 dims, but got 2}}
  attn.linear_tile %in, %panels into %out at %i, %i, %i size 1 x 16 x 64 contract 2 pace 1 : memref<4x64xf32>, memref<3072xf32> into memref<4x48xf32>
  return
}

// -----

func.func @epilogue(%in: memref<4x64xf32>, %panels: memref<3072xf32>, %out: memref<4x48xf32>, %i: index) {
  // expected-error @+1 {{expected an epilogue of 1 arguments, but got 0}}
  attn.linear_tile %in, %panels into %out at %i, %i, %i size 1 x 16 x 64 contract 1 pace 1 : memref<4x64xf32>, memref<3072xf32> into memref<4x48xf32> {
    %r = arith.constant 1.0 : f32
    attn.yield %r : f32
  }
  return
}

// -----

func.func @half_a_vector(%in: memref<4x64xf32>, %panels: memref<3072xf32>, %out: memref<4x48xf32>, %i: index) {
  // expected-error @+1 {{expected whole vectors of 16 columns, but got 24}}
  attn.linear_tile %in, %panels into %out at %i, %i, %i size 1 x 24 x 64 contract 1 pace 1 : memref<4x64xf32>, memref<3072xf32> into memref<4x48xf32>
  return
}

// -----

func.func @panels(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %w: memref<f32>) {
  %in = memref.reinterpret_cast %w to offset: [0], sizes: [4, 64], strides: [64, 1] : memref<f32> to memref<4x64xf32>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [640], strides: [1] : memref<f32> to memref<640xf32>
  %out = memref.reinterpret_cast %w to offset: [0], sizes: [4, 10], strides: [10, 1] : memref<f32> to memref<4x10xf32>
  // expected-error @+1 {{expected panels of 3072 elements}}
  attn.linear_kernel %in, %panels into %out contract 1 : memref<4x64xf32>, memref<640xf32> into memref<4x10xf32>
  return
}
