// RUN: attn-opt %s -attn-vectorize=level=x86-64-v4 -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,V4
// RUN: attn-opt %s -attn-vectorize=level=x86-64-v3 -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,V3

!in = memref<4x64xf32, strided<[64, 1]>>
!panels = memref<6144xf32, strided<[1]>>
!bias = memref<72xf32, strided<[1]>>
!out = memref<4x72xf32, strided<[72, 1]>>

// Sums stay in registers while k runs, four steps at a time; of the second panel, 24 columns are stored.
// CHECK-LABEL: func.func @tile
func.func @tile(%in: !in, %panels: !panels, %bias: !bias, %out: !out, %row: index, %column: index, %ahead: index) {
  // CHECK: %[[X:.*]] = memref.subview %arg0
  // V4: %[[SUMS:.*]]:3 = scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>)
  // V3: %[[SUMS:.*]]:6 = scf.for {{.*}} -> (vector<8xf32>, {{.*}})
  // CHECK: memref.prefetch %arg1[%{{.*}}], read, locality<2>, data
  // CHECK: %[[W:.*]] = vector.load %arg1
  // CHECK: %[[A:.*]] = memref.load %[[X]]
  // CHECK: %[[AS:.*]] = vector.broadcast %[[A]]
  // CHECK: math.fma %[[AS]], %[[W]], %{{.*}}
  // CHECK: scf.yield
  // CHECK: scf.if
  // V4: vector.load %arg2
  // V4: arith.addf %[[SUMS]]#0
  // CHECK-NOT: vector.masked
  // CHECK: else
  // V4: vector.store
  // V4: vector.constant_mask [8] : vector<16xi1>
  // V4: vector.maskedload %arg2
  // V4: vector.maskedstore
  // V3-COUNT-3: vector.store
  // V3-NOT: vector.store
  attn.linear_tile %in, %panels bias %bias into %out at %row, %column, %row size 1 x 48 x 64 contract 1 ahead %ahead pace 2
    : !in, !panels bias !bias into !out
  return
}

// The epilogue sees the sum with its bias.
// CHECK-LABEL: func.func @epilogue
func.func @epilogue(%in: !in, %panels: !panels, %bias: !bias, %skip: !out, %out: !out, %row: index) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[SKIP:.*]] = memref.subview %arg3
  // CHECK: %[[C:.*]] = vector.load %[[SKIP]]
  // CHECK: %[[S:.*]] = arith.addf %{{.*}}, %{{.*}} : vector<[[LANES:.*]]xf32>
  // CHECK: %[[R:.*]] = arith.mulf %[[S]], %[[C]] : vector<[[LANES]]xf32>
  // CHECK: vector.store %[[R]]
  attn.linear_tile %in, %panels bias %bias captures(%skip) into %out at %row, %c0, %c0 size 1 x 16 x 64 contract 1 pace 1
    : !in, !panels bias !bias captures(!out) into !out {
  ^bb0(%s: f32, %c: f32):
    %r = arith.mulf %s, %c : f32
    attn.yield %r : f32
  }
  return
}

// The first part begins with zeros, the others with what out holds.
// CHECK-LABEL: func.func @part
func.func @part(%in: !in, %panels: !panels, %out: !out, %row: index, %start: index) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %arg4, %c0
  // CHECK: scf.if %[[FIRST]]
  // CHECK: vector.load %{{.*}} : memref<72xf32
  // CHECK: scf.for
  attn.linear_tile %in, %panels into %out at %row, %c0, %start size 1 x 16 x 32 contract 1 pace 1 : !in, !panels into !out
  return
}

// A step of two neighbours becomes two of f32, whose place in the part is all that tiles know of panels.
// CHECK-LABEL: func.func @widened
func.func @widened(%in: !in, %panels: memref<6144xi16, strided<[1]>>, %part: memref<3072xf32, strided<[1]>>, %out: !out, %row: index, %from: index) {
  %c0 = arith.constant 0 : index
  // CHECK: scf.for {{.*}} to %c32
  // CHECK: %[[WORDS:.*]] = vector.load %arg1[%{{.*}}] : {{.*}}, vector<[[PAIRS:32|16]]xi16>
  // CHECK-COUNT-6: vector.store %{{.*}}, %arg2
  // CHECK: scf.for {{.*}} to %c64
  // CHECK-NOT: vector.load %arg1
  // CHECK: vector.load %arg2
  // CHECK: math.fma
  attn.widen_tile %panels into %part at %from steps 32 : memref<6144xi16, strided<[1]>> into memref<3072xf32, strided<[1]>>
  attn.linear_tile %in, %panels widened %part into %out at %row, %c0, %c0 size 1 x 48 x 32 contract 1 in bf16 pace 2
    : !in, memref<6144xi16, strided<[1]>> widened memref<3072xf32, strided<[1]>> into !out
  return
}

// Numbers of int4 become bytes, four in a word, by products of 16 bits.
// CHECK-LABEL: func.func @widened_bytes
func.func @widened_bytes(%panels: memref<3072xi8>, %lines: memref<384xf16>, %scales: memref<48xf32>, %part: memref<1536xf32>, %groups: index) {
  %c0 = arith.constant 0 : index
  // CHECK: arith.divf
  // CHECK: scf.for {{.*}} to %arg4
  // CHECK: vector.load %arg1
  // CHECK: arith.extf
  // CHECK: vector.load %arg0
  // CHECK: arith.muli {{.*}}xi16>
  // CHECK: vector.store %{{.*}}, %arg3
  attn.widen_bytes_tile %panels, %lines, %scales into %part at %c0, %c0, %c0 groups %groups of int4
    : memref<3072xi8>, memref<384xf16>, memref<48xf32> into memref<1536xf32>
  return
}
