// Products of pairs of bf16: where a CPU multiplies them fast and the kernel may round, and nowhere else.
//
// RUN: attn-opt %s -split-input-file -attn-tile=level=avx512bf16 -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,VECTORS
// RUN: attn-opt %s -split-input-file -attn-tile=level=amx -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,TILES
// RUN: attn-opt %s -split-input-file -attn-tile=level=vnni -canonicalize -cse | FileCheck %s --check-prefix=VNNI
// VNNI-NOT: pair

// 40 features are 32 rows of pairs, with zeros; 69 keys are tiles of 40 and 29, or one for tile registers, whose weights wait for one another, 32 keys at
// a time; where a maximum grew too much, those that wait are multiplied before what was summed is rescaled.
// CHECK-LABEL: func.func private @plain.attention_kernel
// CHECK: attn.query_tile {{.*}} pairs : {{.*}}, memref<32x48xf32
// CHECK: attn.pair_tile {{.*}} words %c0 to %c0
// VECTORS: attn.round_keys_tile {{.*}} keys %c40 : {{.*}} memref<64x32xf32
// VECTORS: attn.turn_values_tile {{.*}} keys %c40 : {{.*}} memref<48x32xf32
// VECTORS: attn.pair_tile {{.*}} words %c0 to %c20 rows 8 queries 32 :
// VECTORS: attn.score_tile {{.*}} summed
// VECTORS: attn.softmax_tile {{.*}} online pairs
// VECTORS: %[[GREW:.*]] = attn.factor_tile {{.*}} queries 32
// VECTORS: scf.if %[[GREW]] {
// VECTORS-NEXT: attn.rescale_tile {{.*}} queries 32 turned
// VECTORS: attn.pair_tile {{.*}} words %c0 to %c20 rows 8 queries 32 accumulate
// VECTORS: attn.round_keys_tile {{.*}} keys %c29
// VECTORS: attn.pair_tile {{.*}} words %c0 to %c20 rows 12 queries 32 :
// VECTORS: attn.pair_tile {{.*}} words %c0 to %c20 rows 5 queries 32 :
// VECTORS: attn.pair_tile {{.*}} words %c0 to %c15 {{.*}} accumulate
// TILES: attn.round_keys_tile {{.*}} keys %c69 : {{.*}} memref<96x32xf32
// TILES: attn.turn_values_tile {{.*}} keys %c69 : {{.*}} memref<48x48xf32
// TILES: %[[WORDS:.*]] = memref.subview %{{.*}}[0, 0] [48, 48]
// TILES: %[[SCORES:.*]] = memref.subview %{{.*}}[48, 0] [32, 48]
// TILES: memref.store %c0, %[[DONE:.*]][]
// TILES: scf.for %[[AT:.*]] = %c0 to %c64 step %c32 {
// TILES: %[[WORD:.*]] = arith.divui %[[AT]], %c2
// TILES: attn.pair_tile {{.*}} into %[[SCORES]][{{.*}} words %c0 to %c20 rows 32 queries 32 :
// TILES: attn.score_tile {{.*}} into %[[SCORES]][{{.*}} summed
// TILES: %[[OWN:.*]] = memref.subview %[[WORDS]][%[[WORD]], 0] [16, 48]
// TILES: attn.softmax_tile %[[SCORES]][%c0] into %[[OWN]], {{.*}} keys %c32 queries 32 online pairs
// TILES: %[[GREW:.*]] = attn.factor_tile {{.*}} queries 32
// TILES: scf.if %[[GREW]] {
// TILES-NEXT: %[[FIRST:.*]] = memref.load %[[DONE]][]
// TILES-NEXT: attn.pair_tile %{{.*}}, %[[WORDS]] into {{.*}} words %[[FIRST]] to %[[WORD]] rows 32 queries 32 accumulate
// TILES-NEXT: attn.pair_tile %{{.*}}, %[[WORDS]] into {{.*}} words %[[FIRST]] to %[[WORD]] rows 16 queries 32 accumulate
// TILES-NEXT: attn.rescale_tile {{.*}} queries 32 turned
// TILES-NEXT: memref.store %[[WORD]], %[[DONE]][]
// TILES: attn.pair_tile {{.*}} words %c0 to %c20 rows 16 queries 32 :
// TILES: attn.softmax_tile {{.*}} keys %c5 queries 32 online pairs
// TILES: scf.if
// TILES: memref.store %c32, %[[DONE]][]
// TILES: %[[FIRST:.*]] = memref.load %[[DONE]][]
// TILES-NEXT: attn.pair_tile {{.*}} words %[[FIRST]] to %c35 rows 32 queries 32 accumulate
// TILES-NEXT: attn.pair_tile {{.*}} words %[[FIRST]] to %c35 rows 16 queries 32 accumulate
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

// A value that is not finite is selected, not multiplied with 0: in vectors at any level, and alone, so that no weight waits for it. Where the mask empties the
// next keys, weights that wait are multiplied.
// CHECK-LABEL: func.func private @masked.attention_kernel
// VECTORS: %[[FINITE:.*]] = attn.turn_values_tile {{.*}} keys %c24
// VECTORS: %[[LIVE:.*]] = arith.ori %{{.*}}, %[[FINITE]]
// VECTORS: scf.if %[[LIVE]] {
// VECTORS: attn.pair_tile {{.*}} rows 8 queries 32 accumulate :
// VECTORS: else
// VECTORS: attn.pair_tile {{.*}} queries 32 accumulate selects
// TILES: %[[FINITE:.*]] = attn.turn_values_tile {{.*}} keys %c69
// TILES: scf.for %[[AT:.*]] = %c0 to %c64 step %c32 {
// TILES: %[[WORD:.*]] = arith.divui %[[AT]], %c2
// TILES: %[[NEXT:.*]] = arith.addi %[[WORD]], %c16
// TILES: %[[ALL:.*]] = arith.cmpi sle, %{{.*}}, %[[FIRST:.*]] :
// TILES: %[[ANY:.*]] = arith.cmpi sle, %[[AT]], %{{.*}} :
// TILES: scf.if %[[ANY]] {
// TILES: attn.softmax_tile
// TILES: scf.if %[[FINITE]] {
// TILES-NEXT: } else {
// TILES-NEXT: scf.if %[[ALL]] {
// TILES: attn.pair_tile {{.*}} words %[[WORD]] to %[[NEXT]] rows 16 queries 32 accumulate :
// TILES: else
// TILES: attn.pair_tile {{.*}} words %[[WORD]] to %[[NEXT]] rows 2 queries 32 accumulate selects
// TILES: memref.store %[[NEXT]], %[[DONE:.*]][]
// TILES: } else {
// TILES-NEXT: %[[BEFORE:.*]] = memref.load %[[DONE]][]
// TILES-NEXT: %[[WAIT:.*]] = arith.cmpi ult, %[[BEFORE]], %[[WORD]]
// TILES-NEXT: scf.if %[[WAIT]] {
// TILES-NEXT: attn.pair_tile {{.*}} words %[[BEFORE]] to %[[WORD]] rows 32 queries 32 accumulate :
// TILES: memref.store %[[NEXT]], %[[DONE]][]
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

// -----

// Of a cache with room for 200 keys, all are packed before the first of many blocks, but for tiles that the mask empties for all of them; whether their
// values are finite is known of all together.
// TILES-LABEL: func.func private @cached.attention_kernel
// TILES: memref.store %true, %[[FINITE:.*]][]
// TILES: scf.for %[[FROM:.*]] = %c0 to %{{.*}} step %c128 {
// TILES: scf.if
// TILES: arith.divui %[[FROM]], %c128
// TILES: attn.round_keys_tile
// TILES: %[[TILE:.*]] = attn.turn_values_tile
// TILES: %[[SO:.*]] = memref.load %[[FINITE]][]
// TILES: %[[ALL:.*]] = arith.andi %[[SO]], %[[TILE]]
// TILES: memref.store %[[ALL]], %[[FINITE]][]
// TILES: attn.query_tile
// TILES: memref.load %[[FINITE]][]
// TILES: attn.output_tile
func.func @cached(%q_: memref<f32>, %kv: memref<f32>, %out: memref<f32>, %keys: index, %thread: index, %threads: index, %s: memref<f32>) {
  %q = memref.reinterpret_cast %q_ to offset: [0], sizes: [2, 250, 40], strides: [40, 80, 1] : memref<f32> to memref<2x250x40xf32, strided<[40, 80, 1]>>
  %k = memref.reinterpret_cast %kv to offset: [0], sizes: [2, %keys, 40], strides: [8000, 40, 1] : memref<f32> to memref<2x?x40xf32, strided<[8000, 40, 1]>>
  %v = memref.reinterpret_cast %kv to offset: [16000], sizes: [2, %keys, 40], strides: [8000, 40, 1] : memref<f32> to memref<2x?x40xf32, strided<[8000, 40, 1], offset: 16000>>
  %o = memref.reinterpret_cast %out to offset: [0], sizes: [2, 250, 40], strides: [40, 80, 1] : memref<f32> to memref<2x250x40xf32, strided<[40, 80, 1]>>
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 32768], strides: [32768, 1] : memref<f32> to memref<?x32768xf32, strided<[32768, 1]>>
  attn.attention_kernel %q over %k, %v into %o scratch %scratch batch 1 {rounds = bf16} : memref<2x250x40xf32, strided<[40, 80, 1]>>,
    memref<2x?x40xf32, strided<[8000, 40, 1]>>, memref<2x?x40xf32, strided<[8000, 40, 1], offset: 16000>> into memref<2x250x40xf32, strided<[40, 80, 1]>>,
    memref<?x32768xf32, strided<[32768, 1]>>
  score {
  ^bb0(%a: tensor<40xf32>, %b: tensor<40xf32>, %p0: index, %p1: index, %p2: index):
    %d = attn.dot %a, %b : tensor<40xf32>, tensor<40xf32>
    attn.yield %d : f32
  } mask {
  ^bb0(%h: index, %i: index, %j: index):
    %live = arith.cmpi sle, %j, %i : index
    attn.yield %live : i1
  }
  return
}
