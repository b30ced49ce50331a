// RUN: attn-opt %s -attn-merge-barriers | FileCheck %s

!m = memref<2x4xf32, strided<[4, 1]>>
!r = memref<2x4xf32, strided<[0, 1]>>

// The third map reads the first row of what the first has written in each of its rows: another thread may have written it.
// CHECK-LABEL: func.func private @repeated_row
// CHECK: attn.map_kernel
// CHECK-NOT: attn.barrier
// CHECK: attn.map_kernel
// CHECK: attn.barrier
// CHECK: attn.map_kernel
// CHECK: attn.barrier
func.func private @repeated_row(%call: memref<i8>, %thread: index, %a: memref<f32>, %b: memref<f32>, %c: memref<f32>, %d: memref<f32>) {
  %x = memref.reinterpret_cast %a to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<f32> to !m
  %y = memref.reinterpret_cast %b to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<f32> to !m
  %row = memref.reinterpret_cast %b to offset: [0], sizes: [2, 4], strides: [0, 1] : memref<f32> to !r
  %z = memref.reinterpret_cast %c to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<f32> to !m
  %w = memref.reinterpret_cast %d to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<f32> to !m
  attn.map_kernel(%x) into %y : (!m), !m {
  ^bb0(%e: f32):
    attn.yield %e : f32
  }
  attn.barrier %call, %thread : memref<i8>
  attn.map_kernel(%y) into %z : (!m), !m {
  ^bb0(%e: f32):
    attn.yield %e : f32
  }
  attn.barrier %call, %thread : memref<i8>
  attn.map_kernel(%z, %row) into %w : (!m, !r), !m {
  ^bb0(%e: f32, %f: f32):
    %g = arith.addf %e, %f : f32
    attn.yield %g : f32
  }
  attn.barrier %call, %thread : memref<i8>
  return
}

// The second map writes what other threads may still read in the first.
// CHECK-LABEL: func.func private @written_later
// CHECK: attn.map_kernel
// CHECK: attn.barrier
// CHECK: attn.map_kernel
// CHECK: attn.barrier
func.func private @written_later(%call: memref<i8>, %thread: index, %a: memref<f32>, %b: memref<f32>) {
  %row = memref.reinterpret_cast %a to offset: [0], sizes: [2, 4], strides: [0, 1] : memref<f32> to !r
  %x = memref.reinterpret_cast %a to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<f32> to !m
  %y = memref.reinterpret_cast %b to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<f32> to !m
  attn.map_kernel(%row) into %y : (!r), !m {
  ^bb0(%e: f32):
    attn.yield %e : f32
  }
  attn.barrier %call, %thread : memref<i8>
  attn.map_kernel(%y) into %x : (!m), !m {
  ^bb0(%e: f32):
    attn.yield %e : f32
  }
  attn.barrier %call, %thread : memref<i8>
  return
}
