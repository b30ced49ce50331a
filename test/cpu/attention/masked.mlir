// RUN: attn-opt %s -attn-tile=level=x86-64-v4 -canonicalize -cse | FileCheck %s

// Causal: a tile of keys behind the group's last query is passed by, then those behind a block's; one that no query of the block
// is before needs no mask. The bound of the keys from outside the mask counts, too.
// CHECK-LABEL: func.func private @causal.attention_kernel
// CHECK: scf.for %[[KEYS:.*]] = %c0 to %c168 step %c56
// CHECK: %[[LAST:.*]] = arith.addi %[[KEYS]], %c55
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
