// RUN: attn-opt %s -split-input-file -attn-tile=level=x86-64-v4 -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,V4
// RUN: attn-opt %s -split-input-file -attn-tile=level=x86-64-v3 -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,V3

// 20 queries are two vectors of 16, or three of 8: one block, its factor 0.5 * log2(e). All 24 keys
// are one tile, brought together. 8 rows of values are left after groups of 12.
// CHECK-LABEL: func.func private @strip.attention_kernel
// V4: attn.query_tile {{.*}} queries 16 scale 0.72134{{.*}} : memref<20x8xf32, strided<[48, 1], offset: ?>>, memref<8x48xf32
// V4: attn.query_tile {{.*}} queries 16
// V4: attn.reset_tile {{.*}} queries 32
// V4: scf.for %[[KEY:.*]] = %c0 to %c24 step %c12 {
// V4-NEXT: attn.score_tile {{.*}} into %{{.*}}[%[[KEY]], %c0] maximum %{{.*}} keys 12 queries 32
// V4-NOT: score {
// V4: attn.softmax_tile {{.*}} keys %c24 queries 32 :
// V4: attn.pack_tile
// V4: attn.value_tile {{.*}} keys %c24 rows 12 columns 8 accumulate :
// V4: attn.value_tile {{.*}} keys %c24 rows 8 columns 8 accumulate :
// V3: attn.score_tile {{.*}} keys 4 queries 24
// V3: attn.value_tile {{.*}} keys %c24 rows 12 columns 8 accumulate :
// V3: attn.value_tile {{.*}} keys %c24 rows 8 columns 8 accumulate :
// CHECK: attn.output_tile {{.*}} normalise
func.func @strip(%qkv: memref<f32>, %out: memref<f32>, %call: memref<f32>, %thread: index, %threads: index, %s: memref<f32>) {
  %q = memref.reinterpret_cast %qkv to offset: [0], sizes: [2, 20, 8], strides: [8, 48, 1] : memref<f32> to memref<2x20x8xf32, strided<[8, 48, 1]>>
  %k = memref.reinterpret_cast %qkv to offset: [16], sizes: [2, 24, 8], strides: [8, 48, 1] : memref<f32> to memref<2x24x8xf32, strided<[8, 48, 1], offset: 16>>
  %v = memref.reinterpret_cast %qkv to offset: [32], sizes: [2, 24, 8], strides: [8, 48, 1] : memref<f32> to memref<2x24x8xf32, strided<[8, 48, 1], offset: 32>>
  %o = memref.reinterpret_cast %out to offset: [0], sizes: [2, 20, 8], strides: [8, 16, 1] : memref<f32> to memref<2x20x8xf32, strided<[8, 16, 1]>>
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 4096], strides: [4096, 1] : memref<f32> to memref<?x4096xf32, strided<[4096, 1]>>
  attn.attention_kernel %q over %k, %v into %o scratch %scratch batch 1 : memref<2x20x8xf32, strided<[8, 48, 1]>>,
    memref<2x24x8xf32, strided<[8, 48, 1], offset: 16>>, memref<2x24x8xf32, strided<[8, 48, 1], offset: 32>> into memref<2x20x8xf32, strided<[8, 16, 1]>>,
    memref<?x4096xf32, strided<[4096, 1]>>
  score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index):
    %half = arith.constant 0.5 : f32
    %d = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    %x = arith.mulf %d, %half : f32
    attn.yield %x : f32
  }
  return
}

// -----

// Keys known at run time: tiles of 64, what is summed is rescaled, the output is normalised. The
// last keys of the last tile have a score tile that repeats the last one. A score that is no
// multiple of the inner product stays a function of it.
// CHECK-LABEL: func.func private @online.attention_kernel
// CHECK: attn.query_tile {{.*}} scale 1.000000e+00
// CHECK: attn.value_tile {{.*}} keys %c0
// CHECK: scf.for {{.*}} step %c64 {
// CHECK: attn.score_tile {{.*}} score {
// CHECK-NEXT: ^bb0(%[[DOT:.*]]: f32, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT: math.tanh %[[DOT]]
// CHECK: scf.if
// CHECK: attn.score_tile {{.*}} repeats
// CHECK: attn.softmax_tile {{.*}} online
// CHECK: attn.value_tile {{.*}} accumulate :
// CHECK: attn.output_tile {{.*}} normalise
func.func @online(%a: memref<f32>, %b: memref<f32>, %c: memref<f32>, %thread: index, %threads: index, %d: memref<f32>, %s: memref<f32>, %keys: index) {
  %q = memref.reinterpret_cast %a to offset: [0], sizes: [16, 8], strides: [8, 1] : memref<f32> to memref<16x8xf32, strided<[8, 1]>>
  %k = memref.reinterpret_cast %b to offset: [0], sizes: [%keys, 8], strides: [8, 1] : memref<f32> to memref<?x8xf32, strided<[8, 1]>>
  %v = memref.reinterpret_cast %c to offset: [0], sizes: [%keys, 8], strides: [8, 1] : memref<f32> to memref<?x8xf32, strided<[8, 1]>>
  %o = memref.reinterpret_cast %d to offset: [0], sizes: [16, 8], strides: [8, 1] : memref<f32> to memref<16x8xf32, strided<[8, 1]>>
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 8192], strides: [8192, 1] : memref<f32> to memref<?x8192xf32, strided<[8192, 1]>>
  attn.attention_kernel %q over %k, %v into %o scratch %scratch batch 0 : memref<16x8xf32, strided<[8, 1]>>, memref<?x8xf32, strided<[8, 1]>>,
    memref<?x8xf32, strided<[8, 1]>> into memref<16x8xf32, strided<[8, 1]>>, memref<?x8192xf32, strided<[8192, 1]>>
  score {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>, %p0: index, %p1: index):
    %dot = attn.dot %x, %y : tensor<8xf32>, tensor<8xf32>
    %t = math.tanh %dot : f32
    attn.yield %t : f32
  }
  return
}

// -----

// 100 queries are three blocks, a group: keys are gone through once for all of them, and a tile's
// values are brought together once. Unfused, all scores come before the first weight.
// CHECK-LABEL: func.func private @group.attention_kernel
// CHECK: scf.for %{{.*}} = %c0 to %[[BLOCKS:.*]] step %c1 {
// CHECK: attn.query_tile
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c64 {
// CHECK: attn.pack_tile
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %[[BLOCKS]] step %c1 {
// CHECK: memref.prefetch {{.*}} locality<2>
// CHECK: attn.score_tile
// CHECK: attn.softmax_tile {{.*}} online
// CHECK: attn.value_tile {{.*}} accumulate :
// CHECK: scf.for %{{.*}} = %c0 to %[[BLOCKS]] step %c1 {
// CHECK: attn.output_tile
// CHECK-LABEL: func.func private @group.attention_kernel.2
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c64 {
// CHECK: attn.score_tile
// CHECK: attn.softmax_tile {{.*}} keys %c128
// CHECK-NOT: online
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c64 {
// CHECK: attn.pack_tile
// CHECK-NOT: rescale
// CHECK: attn.output_tile
!q = memref<100x8xf32, strided<[24, 1]>>
!k = memref<128x8xf32, strided<[24, 1]>>
!s = memref<?x40000xf32, strided<[40000, 1]>>
!v = tensor<8xf32>
func.func @group(%a: memref<f32>, %b: memref<f32>, %c: memref<f32>, %thread: index, %threads: index, %d: memref<f32>, %s: memref<f32>) {
  %q = memref.reinterpret_cast %a to offset: [0], sizes: [100, 8], strides: [24, 1] : memref<f32> to !q
  %k = memref.reinterpret_cast %b to offset: [0], sizes: [128, 8], strides: [24, 1] : memref<f32> to !k
  %v = memref.reinterpret_cast %c to offset: [0], sizes: [128, 8], strides: [24, 1] : memref<f32> to !k
  %o = memref.reinterpret_cast %d to offset: [0], sizes: [100, 8], strides: [24, 1] : memref<f32> to !q
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 40000], strides: [40000, 1] : memref<f32> to !s
  attn.attention_kernel %q over %k, %v into %o scratch %scratch batch 0 : !q, !k, !k into !q, !s
  score {
  ^bb0(%x: !v, %y: !v, %p0: index, %p1: index):
    %dot = attn.dot %x, %y : !v, !v
    attn.yield %dot : f32
  }
  attn.attention_kernel %q over %k, %v into %o scratch %scratch batch 0 {lowering = #attn<lowering unfused>} : !q, !k, !k into !q, !s
  score {
  ^bb0(%x: !v, %y: !v, %p0: index, %p1: index):
    %dot = attn.dot %x, %y : !v, !v
    attn.yield %dot : f32
  }
  return
}

// -----

// From 28 features on, with 32 registers, a group's scores become weights while those of the next group are computed; what is left are
// those of the last.
// CHECK-LABEL: func.func private @weighed.attention_kernel
// V4: scf.for %{{.*}} = %c0 to %c56 step %c8 {
// V4: attn.score_tile {{.*}} keys 8 queries 48 weighs 8 {{.*}}
// V4: attn.softmax_tile {{.*}} keys %c8 queries 48 more
// V4-NOT: online
// V4: attn.rescale_tile
// V3: attn.score_tile
// V3-NOT: weighs
// V3: attn.softmax_tile {{.*}} online
// CHECK: attn.value_tile {{.*}} keys %c56 {{.*}} accumulate :
!q = memref<48x32xf32, strided<[32, 1]>>
!k = memref<112x32xf32, strided<[32, 1]>>
!s = memref<?x40000xf32, strided<[40000, 1]>>
!v = tensor<32xf32>
func.func @weighed(%a: memref<f32>, %b: memref<f32>, %c: memref<f32>, %thread: index, %threads: index, %d: memref<f32>, %s: memref<f32>) {
  %q = memref.reinterpret_cast %a to offset: [0], sizes: [48, 32], strides: [32, 1] : memref<f32> to !q
  %k = memref.reinterpret_cast %b to offset: [0], sizes: [112, 32], strides: [32, 1] : memref<f32> to !k
  %v = memref.reinterpret_cast %c to offset: [0], sizes: [112, 32], strides: [32, 1] : memref<f32> to !k
  %o = memref.reinterpret_cast %d to offset: [0], sizes: [48, 32], strides: [32, 1] : memref<f32> to !q
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 40000], strides: [40000, 1] : memref<f32> to !s
  attn.attention_kernel %q over %k, %v into %o scratch %scratch batch 0 : !q, !k, !k into !q, !s
  score {
  ^bb0(%x: !v, %y: !v, %p0: index, %p1: index):
    %dot = attn.dot %x, %y : !v, !v
    attn.yield %dot : f32
  }
  return
}
