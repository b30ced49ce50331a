// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of lookup_kernel and rotary_kernel, and the dtypes of map_kernel.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @lookup_kernel_c1(%t: memref<4x3x2xf32>, %i: memref<5xi32>, %out: memref<5x2xf32>) {
  // expected-error@+1 {{expected a table [rows, static columns]}}
  attn.lookup_kernel %t[%i] into %out : memref<4x3x2xf32>, memref<5xi32>, memref<5x2xf32>
  return
}

// -----

func.func @lookup_kernel_c2(%t: memref<4x3xf32>, %i: memref<5xi32>, %out: memref<6x3xf32>) {
  // expected-error@+1 {{expected an output with a row of the table for each index}}
  attn.lookup_kernel %t[%i] into %out : memref<4x3xf32>, memref<5xi32>, memref<6x3xf32>
  return
}

// -----

func.func @rotary_kernel_c1(%x: memref<4x6xf32>, %c: memref<4x3xf32>, %out: memref<4x4xf32>) {
  // expected-error@+1 {{expected input and output with the same rows and columns}}
  attn.rotary_kernel %x by %c, %c into %out : memref<4x6xf32>, memref<4x3xf32>, memref<4x3xf32>, memref<4x4xf32>
  return
}

// -----

func.func @rotary_kernel_c2(%x: memref<4x6xf32>, %c: memref<4x6xf32>, %out: memref<4x6xf32>) {
  // expected-error@+1 {{expected a cosine and a sine for each of at most 3 pairs of a row}}
  attn.rotary_kernel %x by %c, %c into %out : memref<4x6xf32>, memref<4x6xf32>, memref<4x6xf32>, memref<4x6xf32>
  return
}

// -----

func.func @map_kernel_c3(%x: memref<4x6xi32>, %out: memref<4x6xf32>) {
  // expected-error@+1 {{expected a body (elements of the inputs...) -> element of the output}}
  attn.map_kernel (%x) into %out : (memref<4x6xi32>), memref<4x6xf32> {
  ^bb0(%a: i32):
    attn.yield %a : i32
  }
  return
}
