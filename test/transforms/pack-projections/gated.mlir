// RUN: attn-opt %s -attn-pack-projections -attn-fuse-epilogue | FileCheck %s

!x = tensor<?x8xf32, #attn.axes<"T", "D">>
!f = tensor<?x16xf32, #attn.axes<"T", "F">>
!w = tensor<16x8xf32, #attn.axes<"F", "D">>

// Two projections that one map combines stay apart, so that it is in the epilogue of the second, and the function of the first in its own.
// CHECK-LABEL: @gated
func.func @gated(%x: !x, %gate: !w, %up: !w) -> !f {
  // CHECK: %[[GATE:.*]] = attn.linear %arg0, %arg1 contract 1 epilogue {
  // CHECK: math.tanh
  // CHECK: attn.linear %arg0, %arg2 contract 1 captures(%[[GATE]]) epilogue {
  // CHECK-NEXT: ^bb0(%[[B:.*]]: f32, %[[A:.*]]: f32):
  // CHECK-NEXT: arith.mulf %[[A]], %[[B]]
  // CHECK-NOT: attn.map
  %a = attn.linear %x, %gate contract 1 : (!x, !w) -> !f
  %b = attn.linear %x, %up contract 1 : (!x, !w) -> !f
  %c = attn.map(%a) : (!f) -> !f {
  ^bb0(%e: f32):
    %t = math.tanh %e : f32
    attn.yield %t : f32
  }
  %d = attn.map(%c, %b) : (!f, !f) -> !f {
  ^bb0(%e: f32, %g: f32):
    %m = arith.mulf %e, %g : f32
    attn.yield %m : f32
  }
  return %d : !f
}

// A third one of the same rows is packed with none of them; two others are.
// CHECK-LABEL: @others
func.func @others(%x: !x, %gate: !w, %up: !w, %w: !w) -> (!f, !f, !f) {
  // CHECK: attn.linear %arg0, %arg3, %arg3 contract 1 :
  %a = attn.linear %x, %gate contract 1 : (!x, !w) -> !f
  %b = attn.linear %x, %up contract 1 : (!x, !w) -> !f
  %p = attn.linear %x, %w contract 1 : (!x, !w) -> !f
  %q = attn.linear %x, %w contract 1 : (!x, !w) -> !f
  %d = attn.map(%a, %b) : (!f, !f) -> !f {
  ^bb0(%e: f32, %g: f32):
    %m = arith.mulf %e, %g : f32
    attn.yield %m : f32
  }
  return %d, %p, %q : !f, !f, !f
}
