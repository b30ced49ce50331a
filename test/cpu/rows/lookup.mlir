// RUN: attn-opt %s -attn-tile=level=x86-64-v4 -canonicalize -cse | FileCheck %s --check-prefix=TILED
// RUN: attn-opt %s -attn-tile=level=x86-64-v4 -attn-vectorize=level=x86-64-v4 --remarks-filter-missed=.* -canonicalize -cse 2>&1 | FileCheck %s --check-prefix=V4
// RUN: attn-opt %s -attn-tile=level=x86-64-v3 -attn-vectorize=level=x86-64-v3 -attn-expand-math=level=x86-64-v3 -canonicalize -cse -attn-check-kernels | FileCheck %s --check-prefix=V3

// A row of the table is copied vector by vector.
// TILED-LABEL: func.func private @lookup.lookup_kernel(
// TILED: %[[ID:.*]] = memref.load %{{.*}} : memref<?xi32>
// TILED: %[[ROW:.*]] = arith.index_cast %[[ID]] : i32 to index
// TILED: memref.subview %{{.*}}[%[[ROW]], {{.*}}]
// TILED: attn.map_row
// V4-NOT: remark
// V4-LABEL: func.func private @lookup.lookup_kernel(
// V4: vector.load {{.*}} vector<16xf32>
// V4: vector.store
func.func @lookup(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %n: index,
                  %in: memref<f32>, %ids: memref<i32>, %to: memref<f32>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [50, 64], strides: [64, 1] : memref<f32> to memref<50x64xf32>
  %i = memref.reinterpret_cast %ids to offset: [0], sizes: [%n], strides: [1] : memref<i32> to memref<?xi32>
  %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32>
  attn.lookup_kernel %x[%i] into %out : memref<50x64xf32>, memref<?xi32>, memref<?x64xf32>
  return
}

// Tables of 16 bits are widened; i16 are the bits of bf16.
// V4-LABEL: func.func private @narrow_tables.lookup_kernel(
// V4: %[[HALVES:.*]] = vector.load {{.*}} vector<16xf16>
// V4: arith.extf %[[HALVES]] : vector<16xf16> to vector<16xf32>
// V4-LABEL: func.func private @narrow_tables.lookup_kernel.2(
// V4: %[[BITS:.*]] = vector.load {{.*}} vector<16xi16>
// V4: %[[BFLOATS:.*]] = arith.bitcast %[[BITS]] : vector<16xi16> to vector<16xbf16>
// V4: arith.extf %[[BFLOATS]] : vector<16xbf16> to vector<16xf32>
func.func @narrow_tables(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %n: index,
                         %halves: memref<f16>, %bits: memref<i16>, %ids: memref<i32>, %to: memref<f32>) {
  %x = memref.reinterpret_cast %halves to offset: [0], sizes: [50, 64], strides: [64, 1] : memref<f16> to memref<50x64xf16>
  %y = memref.reinterpret_cast %bits to offset: [0], sizes: [50, 64], strides: [64, 1] : memref<i16> to memref<50x64xi16>
  %i = memref.reinterpret_cast %ids to offset: [0], sizes: [%n], strides: [1] : memref<i32> to memref<?xi32>
  %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32>
  attn.lookup_kernel %x[%i] into %out : memref<50x64xf16>, memref<?xi32>, memref<?x64xf32>
  attn.lookup_kernel %y[%i] into %out : memref<50x64xi16>, memref<?xi32>, memref<?x64xf32>
  return
}

// Every row has a table of its own, of integers here; where the index is repeated, it is read for each row.
// TILED-LABEL: func.func private @own_tables.lookup_kernel(
// TILED: %[[ID:.*]] = memref.load %{{.*}} : memref<?x3xi64
// TILED: %[[ROW:.*]] = arith.index_cast %[[ID]] : i64 to index
// TILED: %[[TABLE:.*]] = memref.subview %{{.*}} : memref<?x3x50x64xi32{{.*}}> to memref<50x64xi32
// TILED: memref.subview %[[TABLE]][%[[ROW]], 0]
// TILED: attn.map_row
// V4-LABEL: func.func private @own_tables.lookup_kernel(
// V4: vector.load {{.*}} vector<16xi32>
// V4: vector.store
func.func @own_tables(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %n: index,
                      %in: memref<i32>, %ids: memref<i64>, %to: memref<i32>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [%n, 3, 50, 64], strides: [9600, 3200, 64, 1] : memref<i32> to memref<?x3x50x64xi32, strided<[9600, 3200, 64, 1]>>
  %i = memref.reinterpret_cast %ids to offset: [0], sizes: [%n, 3], strides: [1, 0] : memref<i64> to memref<?x3xi64, strided<[1, 0]>>
  %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, 3, 64], strides: [192, 64, 1] : memref<i32> to memref<?x3x64xi32, strided<[192, 64, 1]>>
  attn.lookup_kernel %x[%i] into %out : memref<?x3x50x64xi32, strided<[9600, 3200, 64, 1]>>, memref<?x3xi64, strided<[1, 0]>>, memref<?x3x64xi32, strided<[192, 64, 1]>>
  return
}

// Neighbours are swapped within a vector, each angle serves two lanes; halves are two vectors.
// V4-LABEL: func.func private @rotary.rotary_kernel(
// V4: vector.shuffle {{.*}} [1, 0, 3, 2, {{.*}} : vector<16xf32>, vector<16xf32>
// V4: vector.load {{.*}} vector<8xf32>
// V4: vector.shuffle {{.*}} [0, 0, 1, 1, {{.*}} : vector<8xf32>, vector<8xf32>
// V4: math.fma
// V4-LABEL: func.func private @rotary.rotary_kernel.2(
// V4-NOT: vector.shuffle
// V4: math.fma
func.func @rotary(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                  %in: memref<f32>, %c: memref<f32>, %s: memref<f32>, %to: memref<f32>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [50, 40], strides: [40, 1] : memref<f32> to memref<50x40xf32>
  %cos = memref.reinterpret_cast %c to offset: [0], sizes: [50, 20], strides: [20, 1] : memref<f32> to memref<50x20xf32>
  %sin = memref.reinterpret_cast %s to offset: [0], sizes: [50, 20], strides: [20, 1] : memref<f32> to memref<50x20xf32>
  %out = memref.reinterpret_cast %to to offset: [0], sizes: [50, 40], strides: [40, 1] : memref<f32> to memref<50x40xf32>
  attn.rotary_kernel %x by %cos, %sin into %out interleaved : memref<50x40xf32>, memref<50x20xf32>, memref<50x20xf32>, memref<50x40xf32>
  attn.rotary_kernel %x by %cos, %sin into %out : memref<50x40xf32>, memref<50x20xf32>, memref<50x20xf32>, memref<50x40xf32>
  return
}

// bf16 is converted by shifts, where LLVM would call a function.
// V3-LABEL: func.func private @round.map_kernel(
// V3-NOT: arith.truncf
// V3: arith.shrui %{{.*}} : vector<8xi32>
// V3: arith.trunci %{{.*}} : vector<8xi32> to vector<8xi16>
// V3-NEXT: vector.store {{.*}} vector<8xi16>
func.func @round(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                 %in: memref<f16>, %to: memref<i16>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [50, 40], strides: [40, 1] : memref<f16> to memref<50x40xf16>
  %out = memref.reinterpret_cast %to to offset: [0], sizes: [50, 40], strides: [40, 1] : memref<i16> to memref<50x40xi16>
  attn.map_kernel (%x) into %out : (memref<50x40xf16>), memref<50x40xi16> {
  ^bb0(%a: f16):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.truncf %0 : f32 to bf16
    %2 = arith.bitcast %1 : bf16 to i16
    attn.yield %2 : i16
  }
  return
}
