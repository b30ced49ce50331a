// RUN: attn-opt %s -attn-inline-maps -attn-fuse-epilogue -canonicalize | FileCheck %s

!x = tensor<?x8xf32, #attn.axes<"T", "D">>
!y = tensor<?x4xf32, #attn.axes<"T", "E">>
!w = tensor<4x8xf32, #attn.axes<"E", "D">>
!r = tensor<4xf32, #attn.axes<"E">>

attn.param @scale : !r from #attn.source<"scale", [4], offset = 0, strides = [1]>

// The maps of both calls are part of the linears in front of them.
// CHECK-LABEL: @run
// CHECK: %[[SCALE:.*]] = attn.get @scale
// CHECK: attn.linear %arg0, %arg1 contract 1 captures(%[[SCALE]])
// CHECK: attn.linear %arg0, %arg2 contract 1 captures(%{{.*}})
// CHECK-NOT: attn.map
// CHECK-NOT: call
// CHECK-NOT: @Scaled
func.func @run(%x: !x, %w: !w, %v: !w) -> (!y, !y) {
  %a = attn.linear %x, %w contract 1 : (!x, !w) -> !y
  %b = call @Outer(%a) : (!y) -> !y
  %c = attn.linear %x, %v contract 1 : (!x, !w) -> !y
  %d = call @Scaled(%c) : (!y) -> !y
  return %b, %d : !y, !y
}
func.func private @Outer(%x: !y) -> !y {
  %y = call @Scaled(%x) : (!y) -> !y
  return %y : !y
}
func.func private @Scaled(%x: !y) -> !y {
  %s = attn.get @scale : !r
  %y = attn.map(%x, %s) : (!y, !r) -> !y {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    attn.yield %m : f32
  }
  return %y : !y
}
