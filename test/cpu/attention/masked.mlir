// RUN: attn-opt %s -split-input-file -attn-tile=level=x86-64-v4 -canonicalize -cse | FileCheck %s

// Causal: a tile of keys behind the group's last query is passed by, then those behind a block's; one that no query of the block
// is before needs no mask. The bound of the keys from outside the mask counts, too.
// CHECK-LABEL: func.func private @causal.attention_kernel
// CHECK: scf.for %[[KEYS:.*]] = %c0 to %c192 step %c32
// CHECK: %[[LAST:.*]] = arith.addi %[[KEYS]], %c31
// CHECK: %[[GROUP:.*]] = arith.cmpi sle, %[[KEYS]], %{{.*}} : index
// CHECK: scf.if %[[GROUP]] {
// CHECK: scf.for
// CHECK: %[[ALL:.*]] = arith.cmpi sle, %[[LAST]], %{{.*}} : index
// CHECK-NEXT: %[[MAY:.*]] = arith.cmpi sle, %[[KEYS]], %{{.*}} : index
// CHECK: scf.if %[[MAY]] {
// CHECK: scf.if %[[ALL]] {
// CHECK: attn.score_tile
// CHECK-NOT: at(
// CHECK: } else {
// CHECK: attn.score_tile {{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: arith.select
// CHECK: attn.softmax_tile
// CHECK: scf.if %[[ALL]] {
// CHECK: attn.value_tile
// CHECK-NOT: selects
// CHECK: } else {
// CHECK: attn.value_tile {{.*}} selects
!m = memref<2x200x8xf32, strided<[8, 16, 1]>>
!t = tensor<8xf32>
func.func @causal(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                  %q: memref<f32>, %s: memref<f32>) {
  %x = memref.reinterpret_cast %q to offset: [0], sizes: [2, 200, 8], strides: [8, 16, 1] : memref<f32> to !m
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 10304], strides: [10304, 1] : memref<f32> to memref<?x10304xf32, strided<[10304, 1]>>
  attn.attention_kernel %x over %x, %x into %x scratch %scratch batch 1 : !m, !m, !m into !m, memref<?x10304xf32, strided<[10304, 1]>>
  score {
  ^bb0(%a: !t, %b: !t, %p0: index, %p1: index, %p2: index):
    %d = attn.dot %a, %b : !t, !t
    attn.yield %d : f32
  } mask {
  ^bb0(%h: index, %i: index, %j: index):
    %live = arith.cmpi sle, %j, %i : index
    attn.yield %live : i1
  }
  return
}

// -----

// Documents of 80 queries: a block of 32 and one of 48 of each, and groups of 2 of them; no block has queries of two documents. Rows of
// keys and values of the next tile are prefetched by the first blocks that a tile is live for. A group of 8 blocks of both heads comes
// before the next group.
// CHECK-LABEL: func.func private @documents.attention_kernel
// CHECK: %[[TURNS:.*]] = memref.alloca() : memref<index>
// CHECK: scf.for %[[GROUP:.*]] = %{{.*}} to %{{.*}} step %c1 {
// CHECK: arith.muli %[[GROUP]], %c16
// CHECK: arith.muli %[[GROUP]], %c8
// CHECK: scf.for %[[HEAD:.*]] = %{{.*}} to %{{.*}} step %c1 {
// CHECK: %[[PART:.*]] = arith.divui %{{.*}}, %c2
// CHECK: arith.muli %[[PART]], %c80
// CHECK: memref.store %c0, %[[TURNS]][]
// CHECK: %[[TURN:.*]] = memref.load %[[TURNS]][]
// CHECK: %[[STEP:.*]] = arith.muli %[[TURN]], %c4
// CHECK: arith.cmpi ule
// CHECK: memref.prefetch
// CHECK: attn.value_tile
// CHECK: memref.store %{{.*}}, %[[TURNS]][]
!m = memref<2x480x8xf32, strided<[8, 16, 1]>>
!t = tensor<8xf32>
func.func @documents(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                     %q: memref<f32>, %s: memref<f32>) {
  %x = memref.reinterpret_cast %q to offset: [0], sizes: [2, 480, 8], strides: [8, 16, 1] : memref<f32> to !m
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 14848], strides: [14848, 1] : memref<f32> to memref<?x14848xf32, strided<[14848, 1]>>
  attn.attention_kernel %x over %x, %x into %x scratch %scratch batch 1 : !m, !m, !m into !m, memref<?x14848xf32, strided<[14848, 1]>>
  score {
  ^bb0(%a: !t, %b: !t, %p0: index, %p1: index, %p2: index):
    %d = attn.dot %a, %b : !t, !t
    attn.yield %d : f32
  } mask {
  ^bb0(%h: index, %i: index, %j: index):
    %length = arith.constant 80.0 : f32
    %wholeI = arith.index_cast %i : index to i32
    %realI = arith.sitofp %wholeI : i32 to f32
    %partI = arith.divf %realI, %length : f32
    %ofI = math.floor %partI : f32
    %wholeJ = arith.index_cast %j : index to i32
    %realJ = arith.sitofp %wholeJ : i32 to f32
    %partJ = arith.divf %realJ, %length : f32
    %ofJ = math.floor %partJ : f32
    %live = arith.cmpf oeq, %ofI, %ofJ : f32
    attn.yield %live : i1
  }
  return
}
