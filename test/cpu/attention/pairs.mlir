// Products of pairs of bf16: where a CPU multiplies them fast and the kernel may round, and nowhere else.
//
// RUN: attn-opt %s -split-input-file -attn-tile=level=avx512bf16 -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,VECTORS
// RUN: attn-opt %s -split-input-file -attn-tile=level=amx -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,TILES
// RUN: attn-opt %s -split-input-file -attn-tile=level=vnni -canonicalize -cse | FileCheck %s --check-prefix=VNNI
// VNNI-NOT: pair

// 40 features are 32 rows of pairs, with zeros; 69 keys are tiles of 40 and 29, or one for tile registers, which have 16 rows.
// CHECK-LABEL: func.func private @plain.attention_kernel
// CHECK: attn.query_tile {{.*}} pairs : {{.*}}, memref<32x48xf32
// CHECK: attn.pair_tile {{.*}} words %c0
// VECTORS: attn.round_keys_tile {{.*}} keys %c40 : {{.*}} memref<64x32xf32
// VECTORS: attn.turn_values_tile {{.*}} keys %c40 : {{.*}} memref<48x32xf32
// VECTORS: attn.pair_tile {{.*}} words %c20 rows 8 queries 32 :
// TILES: attn.round_keys_tile {{.*}} keys %c69 : {{.*}} memref<96x32xf32
// TILES: attn.turn_values_tile {{.*}} keys %c69 : {{.*}} memref<48x48xf32
// TILES: attn.pair_tile {{.*}} words %c20 rows 32 queries 32 :
// TILES: attn.pair_tile {{.*}} words %c20 rows 16 queries 32 :
// CHECK: attn.score_tile {{.*}} summed
// CHECK: attn.softmax_tile {{.*}} online pairs
// CHECK: attn.rescale_tile {{.*}} queries 32 turned
// VECTORS: attn.pair_tile {{.*}} words %c20 rows 8 queries 32 accumulate
// TILES: attn.pair_tile {{.*}} words %c35 rows 32 queries 32 accumulate
// TILES: attn.pair_tile {{.*}} words %c35 rows 16 queries 32 accumulate
// VECTORS: attn.round_keys_tile {{.*}} keys %c29
// VECTORS: attn.pair_tile {{.*}} words %c20 rows 12 queries 32 :
// VECTORS: attn.pair_tile {{.*}} words %c20 rows 5 queries 32 :
// VECTORS: attn.pair_tile {{.*}} words %c15 {{.*}} accumulate
// CHECK: attn.output_tile {{.*}} normalise turned 32
func.func @plain(%qkv: memref<f32>, %out: memref<f32>, %call: memref<f32>, %thread: index, %threads: index, %s: memref<f32>) {
  %q = memref.reinterpret_cast %qkv to offset: [0], sizes: [2, 20, 40], strides: [40, 240, 1] : memref<f32> to memref<2x20x40xf32, strided<[40, 240, 1]>>
  %k = memref.reinterpret_cast %qkv to offset: [80], sizes: [2, 69, 40], strides: [40, 240, 1] : memref<f32> to memref<2x69x40xf32, strided<[40, 240, 1], offset: 80>>
  %v = memref.reinterpret_cast %qkv to offset: [160], sizes: [2, 69, 40], strides: [40, 240, 1] : memref<f32> to memref<2x69x40xf32, strided<[40, 240, 1], offset: 160>>
  %o = memref.reinterpret_cast %out to offset: [0], sizes: [2, 20, 40], strides: [40, 80, 1] : memref<f32> to memref<2x20x40xf32, strided<[40, 80, 1]>>
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 16384], strides: [16384, 1] : memref<f32> to memref<?x16384xf32, strided<[16384, 1]>>
  attn.attention_kernel %q over %k, %v into %o scratch %scratch batch 1 {rounds = bf16} : memref<2x20x40xf32, strided<[40, 240, 1]>>,
    memref<2x69x40xf32, strided<[40, 240, 1], offset: 80>>, memref<2x69x40xf32, strided<[40, 240, 1], offset: 160>> into memref<2x20x40xf32, strided<[40, 80, 1]>>,
    memref<?x16384xf32, strided<[16384, 1]>>
  score {
  ^bb0(%a: tensor<40xf32>, %b: tensor<40xf32>, %p0: index, %p1: index, %p2: index):
    %half = arith.constant 0.5 : f32
    %d = attn.dot %a, %b : tensor<40xf32>, tensor<40xf32>
    %x = arith.mulf %d, %half : f32
    attn.yield %x : f32
  }
  return
}

// -----

// A value that is not finite is selected, not multiplied with 0: in vectors at any level.
// CHECK-LABEL: func.func private @masked.attention_kernel
// VECTORS: %[[FINITE:.*]] = attn.turn_values_tile {{.*}} keys %c24
// TILES: %[[FINITE:.*]] = attn.turn_values_tile {{.*}} keys %c32
// CHECK: %[[LIVE:.*]] = arith.ori %{{.*}}, %[[FINITE]]
// CHECK: scf.if %[[LIVE]] {
// VECTORS: attn.pair_tile {{.*}} rows 8 queries 32 accumulate :
// TILES: attn.pair_tile {{.*}} rows 32 queries 32 accumulate :
// CHECK: else
// CHECK: attn.pair_tile {{.*}} queries 32 accumulate selects
func.func @masked(%qkv: memref<f32>, %out: memref<f32>, %call: memref<f32>, %thread: index, %threads: index, %s: memref<f32>) {
  %q = memref.reinterpret_cast %qkv to offset: [0], sizes: [2, 20, 40], strides: [40, 240, 1] : memref<f32> to memref<2x20x40xf32, strided<[40, 240, 1]>>
  %k = memref.reinterpret_cast %qkv to offset: [80], sizes: [2, 69, 40], strides: [40, 240, 1] : memref<f32> to memref<2x69x40xf32, strided<[40, 240, 1], offset: 80>>
  %v = memref.reinterpret_cast %qkv to offset: [160], sizes: [2, 69, 40], strides: [40, 240, 1] : memref<f32> to memref<2x69x40xf32, strided<[40, 240, 1], offset: 160>>
  %o = memref.reinterpret_cast %out to offset: [0], sizes: [2, 20, 40], strides: [40, 80, 1] : memref<f32> to memref<2x20x40xf32, strided<[40, 80, 1]>>
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 16384], strides: [16384, 1] : memref<f32> to memref<?x16384xf32, strided<[16384, 1]>>
  attn.attention_kernel %q over %k, %v into %o scratch %scratch batch 1 {rounds = bf16} : memref<2x20x40xf32, strided<[40, 240, 1]>>,
    memref<2x69x40xf32, strided<[40, 240, 1], offset: 80>>, memref<2x69x40xf32, strided<[40, 240, 1], offset: 160>> into memref<2x20x40xf32, strided<[40, 80, 1]>>,
    memref<?x16384xf32, strided<[16384, 1]>>
  score {
  ^bb0(%a: tensor<40xf32>, %b: tensor<40xf32>, %p0: index, %p1: index, %p2: index):
    %half = arith.constant 0.5 : f32
    %d = attn.dot %a, %b : tensor<40xf32>, tensor<40xf32>
    %x = arith.mulf %d, %half : f32
    attn.yield %x : f32
  } mask {
  ^bb0(%h: index, %i: index, %j: index):
    %live = arith.cmpi sle, %j, %i : index
    attn.yield %live : i1
  }
  return
}
