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
    %c2 = attn.map(%h2, %c1) : (!x, !x) -> !x {
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
