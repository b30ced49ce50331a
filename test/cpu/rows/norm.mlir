// RUN: attn-opt %s -attn-tile=level=x86-64-v4 -canonicalize -cse | FileCheck %s --check-prefix=TILED
// RUN: attn-opt %s -attn-tile=level=x86-64-v4 -attn-vectorize=level=x86-64-v4 -attn-expand-math=level=x86-64-v4 -canonicalize -cse \
// RUN:   -attn-check-kernels | FileCheck %s --check-prefix=V4
// RUN: attn-opt %s -attn-tile=level=x86-64-v3 -attn-vectorize=level=x86-64-v3 -attn-expand-math=level=x86-64-v3 -canonicalize -cse \
// RUN:   -attn-check-kernels | FileCheck %s --check-prefix=V3

// Threads share the rows of all leading dims.
// TILED-LABEL: func.func private @norm.norm_kernel(
// TILED-SAME: %[[N:[a-z0-9]+]]: index, {{.*}}, %[[FIRST:[a-z0-9]+]]: index, %[[LAST:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %[[THREADS:[a-z0-9]+]]: index)
// TILED: %[[PIECES:.*]] = arith.muli %[[THREADS]], %c8
// TILED: %[[ROWS:.*]] = arith.muli %[[N]], %c7
// TILED: %[[BEFORE:.*]] = arith.muli %[[ROWS]], %[[FIRST]]
// TILED: %[[FROM:.*]] = arith.divui %[[BEFORE]], %[[PIECES]]
// TILED: scf.for %[[ROW:.*]] = %[[FROM]] to
// TILED: %[[J:.*]] = arith.remui %[[ROW]], %c7
// TILED: %[[I:.*]] = arith.divui %[[ROW]], %c7
// TILED: %[[IN:.*]] = memref.subview %{{.*}}[%[[I]], %[[J]], 0] [1, 1, 88] [1, 1, 1]
// TILED: %[[OUT:.*]] = memref.subview %{{.*}}[%[[I]], %[[J]], 0] [1, 1, 88] [1, 1, 1]
// TILED: attn.norm_row %[[IN]] weight %{{.*}} bias %{{.*}} into %[[OUT]] <layer, eps = 1.000000e-05 : f64>

// A round of four vectors, one, and a tail of half a vector: the lanes outside are the first element, whose difference is 0.
// The second sweep asks for the next row.
// V4-LABEL: func.func private @norm.norm_kernel(
// V4: %[[FIRST:.*]] = memref.load
// V4: %[[SHIFT:.*]] = vector.broadcast %[[FIRST]] : f32 to vector<16xf32>
// V4-COUNT-5: vector.load {{.*}} vector<16xf32>
// V4: %[[MASK:.*]] = vector.constant_mask [8] : vector<16xi1>
// V4: vector.maskedload %{{.*}}[%c80], %[[MASK]], %[[SHIFT]]
// V4-COUNT-6: memref.prefetch %{{.*}}, read, locality<3>, data
// V4-NOT: memref.prefetch
// V4: math.sqrt
// V4: vector.maskedstore %{{.*}}[%c80], %[[MASK]]
// V4-NOT: attn.

// V3-LABEL: func.func private @norm.norm_kernel(
// V3: scf.for %{{.*}} = %c0 to %c64 step %c32 iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// V3-NOT: mask
func.func @norm(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %n: index,
                %in: memref<f32>, %g: memref<f32>, %b: memref<f32>, %to: memref<f32>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [%n, 7, 88], strides: [630, 90, 1]
    : memref<f32> to memref<?x7x88xf32, strided<[630, 90, 1]>>
  %gamma = memref.reinterpret_cast %g to offset: [0], sizes: [88], strides: [1] : memref<f32> to memref<88xf32>
  %beta = memref.reinterpret_cast %b to offset: [0], sizes: [88], strides: [1] : memref<f32> to memref<88xf32>
  %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, 7, 88], strides: [616, 88, 1] : memref<f32> to memref<?x7x88xf32>
  attn.norm_kernel %x weight %gamma bias %beta into %out <layer, eps = 1.0e-05>
    : memref<?x7x88xf32, strided<[630, 90, 1]>> weight memref<88xf32> bias memref<88xf32> into memref<?x7x88xf32>
  return
}
