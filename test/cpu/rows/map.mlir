// RUN: attn-opt %s -attn-tile=level=x86-64-v4 -canonicalize -cse | FileCheck %s --check-prefix=TILED
// RUN: attn-opt %s -attn-tile=level=x86-64-v4 -attn-vectorize=level=x86-64-v4 --remarks-filter-missed=.* -canonicalize -cse 2>&1 | FileCheck %s --check-prefix=V4
// RUN: attn-opt %s -attn-tile=level=x86-64-v3 -attn-vectorize=level=x86-64-v3 --remarks-filter-missed=.* -canonicalize -cse 2>&1 | FileCheck %s --check-prefix=V3

// Few rows: threads share pieces of them.
// TILED-LABEL: func.func private @piece.map_kernel(
// TILED: scf.for %[[UNIT:.*]] =
// TILED: %[[PIECE:.*]] = arith.remui %[[UNIT]], %c2
// TILED: %[[FROM:.*]] = arith.muli %[[PIECE]], %c512
// TILED: %[[ROW:.*]] = arith.divui %[[UNIT]], %c2
// TILED: memref.subview %{{.*}}[%[[ROW]], %[[FROM]]] [1, 512] [1, 1]
// TILED: attn.map_row

// An element for a row is loaded before the columns.
// V4-LABEL: func.func private @piece.map_kernel(
// V4: %[[ELEMENT:.*]] = memref.load %{{.*}}[%c0] : memref<512xf32, strided<[0], offset: ?>>
// V4: scf.for {{.*}} to %c512 step %c32
// V4: %[[X:.*]] = vector.load %{{.*}} vector<16xf32>
// V4: arith.maximumf %{{.*}} : vector<16xf32>
// V4: vector.store
func.func @piece(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                 %in: memref<f32>, %each: memref<f32>, %to: memref<f32>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [3, 1024], strides: [1024, 1] : memref<f32> to memref<3x1024xf32>
  %y = memref.reinterpret_cast %each to offset: [0], sizes: [3, 1024], strides: [1, 0] : memref<f32> to memref<3x1024xf32, strided<[1, 0]>>
  %out = memref.reinterpret_cast %to to offset: [0], sizes: [3, 1024], strides: [1024, 1] : memref<f32> to memref<3x1024xf32>
  attn.map_kernel (%x, %y) into %out : (memref<3x1024xf32>, memref<3x1024xf32, strided<[1, 0]>>), memref<3x1024xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %a, %b : f32
    attn.yield %r : f32
  }
  return
}

// Many rows: a row each. Distant elements are gathered and scattered; AVX2 moves them one by one, which is said.
// TILED-LABEL: func.func private @transpose.map_kernel(
// TILED-NOT: arith.minui
// TILED: attn.map_row
// V4-NOT: remark
// V4-LABEL: func.func private @transpose.map_kernel(
// V4: vector.gather {{.*}} into vector<16xf32>
// V4: vector.scatter
// V3: remark: [Missed] N0301 {{.*}}x86-64-v3 {{.*}}runs element by element: vectors are only of elements that lie side by side
// V3-LABEL: func.func private @transpose.map_kernel(
func.func @transpose(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                     %in: memref<f32>, %to: memref<f32>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [100, 64], strides: [1, 100] : memref<f32> to memref<100x64xf32, strided<[1, 100]>>
  %out = memref.reinterpret_cast %to to offset: [0], sizes: [100, 64], strides: [1, 100] : memref<f32> to memref<100x64xf32, strided<[1, 100]>>
  attn.map_kernel (%x) into %out : (memref<100x64xf32, strided<[1, 100]>>), memref<100x64xf32, strided<[1, 100]>> {
  ^bb0(%a: f32):
    %r = arith.negf %a : f32
    attn.yield %r : f32
  }
  return
}
