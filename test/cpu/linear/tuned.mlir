// Choices that were measured are an attribute of the module, of a level and a kernel; tiles that are made of them need it no longer.
// RUN: attn-opt %s -attn-tile=level=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,V4
// RUN: attn-opt %s -attn-tile=level=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,V3

// CHECK-NOT: attn.tuning
// V4: attn.linear_tile {{.*}} size 5 x 48 x 32 contract 1 {{.*}} {unroll = 2 : i64}
// V3: attn.linear_tile {{.*}} size 4 x 24 x 64 contract 1 {{.*}}pace {{[0-9]+}} :
module attributes {attn.tuning = {"x86-64-v4" = {"linear f32, 20 rows of 64 -> 96" = {rows = 5, steps = 32, unroll = 2}},
                                  // None of it is anything that code can be written for.
                                  "x86-64-v3" = {"linear f32, 20 rows of 64 -> 96" = {rows = 9, steps = 0, columns = 3, unroll = "two"}}}} {
func.func @rows(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                %x: memref<f32>, %w: memref<f32>, %y: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [20, 64], strides: [64, 1] : memref<f32> to memref<20x64xf32, strided<[64, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [6144], strides: [1] : memref<f32> to memref<6144xf32, strided<[1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [20, 96], strides: [96, 1] : memref<f32> to memref<20x96xf32, strided<[96, 1]>>
  attn.linear_kernel %in, %panels into %out contract 1
    : memref<20x64xf32, strided<[64, 1]>>, memref<6144xf32, strided<[1]>> into memref<20x96xf32, strided<[96, 1]>>
  return
}
}
