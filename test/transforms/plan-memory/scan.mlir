// RUN: attn-opt %s -attn-plan-memory -attn-check-memory -canonicalize -cse | FileCheck %s

!xs = tensor<?x4x8xf32, #attn.axes<"T", "B", "U">>
!x = tensor<4x8xf32, #attn.axes<"B", "U">>
attn.dim @T dyn 16

// A state that each step gives is read in the row before that which the step writes: rows 32 = 4 * 8 apart, of which the
// first is the first state. The other state goes back and forth between two slots.
// CHECK-LABEL: func.func private @forwards(
// CHECK: attn.map_kernel
// CHECK: %{{.*}}:2 = scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[READ:.*]] = %{{.*}}, %[[WRITE:.*]] = %{{.*}}) -> (memref<f32>, memref<f32>) {
// CHECK: %[[ROW:.*]] = arith.muli %[[T]], %{{.*}}
// CHECK: %[[FROM:.*]] = memref.reinterpret_cast %[[ROWS:view.*]] to offset: [%[[ROW]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK: %[[TO:.*]] = memref.reinterpret_cast %[[ROWS]] to offset: [%[[NEXT]]]
// CHECK: attn.map_kernel(%{{.*}}, %[[FROM]]) into %[[TO]]
// CHECK: attn.map_kernel
// CHECK: scf.yield %[[WRITE]], %[[READ]]
// CHECK: }
func.func @forwards(%xs: !xs, %h0: !x, %c0: !x) -> (!xs, !x) attributes {attn.entry} {
  %hs, %h, %c = attn.scan over(%xs) from(%h0, %c0) along "T" : (!xs, !x, !x) -> (!xs, !x, !x) {
  ^bb0(%x: !x, %h1: !x, %c1: !x):
    %h2 = attn.map(%x, %h1) : (!x, !x) -> !x {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      attn.yield %s : f32
    }
    %p = attn.softmax %c1 axis 1 : !x
    %c2 = attn.map(%h2, %p) : (!x, !x) -> !x {
    ^bb0(%a: f32, %b: f32):
      %s = arith.mulf %a, %b : f32
      attn.yield %s : f32
    }
    attn.next %h2, %h2, %c2 : !x, !x, !x
  }
  return %hs, %c : !xs, !x
}

// A scan of one step is no loop.
// CHECK-LABEL: func.func private @one_step(
// CHECK-NOT: scf.for
// CHECK: return
!one = tensor<1x4x8xf32, #attn.axes<"N", "B", "U">>
func.func @one_step(%xs: !one, %h0: !x) -> !x attributes {attn.entry} {
  %h = attn.scan over(%xs) from(%h0) along "N" reverse : (!one, !x) -> !x {
  ^bb0(%x: !x, %h1: !x):
    %h2 = attn.map(%x, %h1) : (!x, !x) -> !x {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      attn.yield %s : f32
    }
    attn.next %h2 : !x
  }
  return %h : !x
}

// A recurrence of elements, and of sums of them along one axis, is one kernel. What is repeated along an axis has stride 0 there.
// CHECK-LABEL: func.func private @one_kernel(
// CHECK-NOT: scf.for
// CHECK: attn.scan_kernel over(%[[KEYS:.*]], %[[VALUES:.*]]) from(%{{.*}}) into(%{{.*}}) states(%{{.*}}) scratch %{{.*}} : (memref<4x?x3x8xf32, strided<[3, 12, 1, 0]>>, memref<4x?x1x8xf32, strided<[8, 32, 1, 1]>>), (memref<4x3x8xf32, strided<[24, 8, 1]>>), (memref<4x?x1x8xf32, strided<[8, 32, 1, 1]>>), (memref<4x3x8xf32, strided<[24, 8, 1]>>)
// CHECK: ^bb0(%[[K:.*]]: f32, %[[V:.*]]: f32, %[[S:.*]]: f32):
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[S]], %[[K]]
// CHECK: %[[SUM:.*]] = attn.fold sum %[[PRODUCT]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[S]], %[[V]]
// CHECK: attn.step %[[SUM]], %[[NEXT]]
// CHECK: attn.barrier
!keys = tensor<?x4x3xf32, #attn.axes<"T", "B", "E">>
!key = tensor<4x3xf32, #attn.axes<"B", "E">>
!state = tensor<4x3x8xf32, #attn.axes<"B", "E", "U">>
func.func @one_kernel(%ks: !keys, %vs: !xs, %s0: !state) -> (!xs, !state) attributes {attn.entry} {
  %ys, %s = attn.scan over(%ks, %vs) from(%s0) along "T" : (!keys, !xs, !state) -> (!xs, !state) {
  ^bb0(%k: !key, %v: !x, %s1: !state):
    %y = attn.reduce sum(%s1, %k) over ["E"] : (!state, !key) -> !x {
    ^bb0(%a: f32, %b: f32):
      %p = arith.mulf %a, %b : f32
      attn.yield %p : f32
    }
    %s2 = attn.map(%s1, %v) : (!state, !x) -> !state {
    ^bb0(%a: f32, %b: f32):
      %n = arith.addf %a, %b : f32
      attn.yield %n : f32
    }
    attn.next %y, %s2 : !x, !state
  }
  return %ys, %s : !xs, !state
}
