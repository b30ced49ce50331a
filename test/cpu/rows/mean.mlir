// RUN: attn-opt %s -attn-tile=level=x86-64-v3 -canonicalize -cse | FileCheck %s --check-prefix=TILED
// RUN: attn-opt %s -attn-tile=level=x86-64-v3 -attn-vectorize=level=x86-64-v3 -canonicalize -cse | FileCheck %s --check-prefix=V3

// Threads share pieces of four vectors of columns.
// TILED-LABEL: func.func private @mean.reduce_kernel(
// TILED: memref.subview %{{.*}}[%{{.*}}, 0, %{{.*}}] [1, 197, 32] [1, 1, 1]
// TILED: attn.reduce_row mean

// Sums of 16 are summed.
// V3-LABEL: func.func private @mean.reduce_kernel(
// V3: scf.for %[[BLOCK:.*]] = %c0 to %c197 step %c16 iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// V3: scf.for %{{.*}} = %[[BLOCK]] to %{{.*}} step %c1 iter_args
// V3-COUNT-4: vector.load {{.*}} vector<8xf32>
// V3-COUNT-4: vector.store
func.func @mean(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %n: index,
                %in: memref<f32>, %to: memref<f32>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [%n, 197, 64], strides: [12608, 64, 1] : memref<f32> to memref<?x197x64xf32>
  %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32>
  attn.reduce_kernel mean(%x) into %out reduced 1 : (memref<?x197x64xf32>), memref<?x64xf32>
  return
}
