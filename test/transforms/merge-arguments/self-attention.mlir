// RUN: attn-opt %s -attn-merge-arguments -attn-pack-projections -canonicalize | FileCheck %s

!x = tensor<?x8xf32, #attn.axes<"T", "D">>
!y = tensor<?x8xf32, #attn.axes<"S:T", "K">>
!w = tensor<2x4x8xf32, #attn.axes<"H", "E", "D">>
!q = tensor<?x2x4xf32, #attn.axes<"T", "H", "E">>
!k = tensor<?x2x4xf32, #attn.axes<"S:T", "H", "E">>

// Called once, with the tensor itself and under another name: one product, in the caller.
// CHECK-LABEL: @once
// CHECK-NEXT: %[[Y:.*]] = attn.linear %arg0, %arg1, %arg1 contract 1
// CHECK-NEXT: attn.slice %[[Y]] axis 1 at 0
// CHECK-NEXT: attn.rearrange
// CHECK-NEXT: attn.slice %[[Y]] axis 1 at 8
// CHECK-NEXT: attn.rearrange
// CHECK-NEXT: return
func.func @once(%x: !x, %w: !w) -> (!q, !k) {
  %y = attn.relabel %x : !x -> !y
  %q, %k = call @inner(%x, %w, %y) : (!x, !w, !y) -> (!q, !k)
  return %q, %k : !q, !k
}
func.func private @inner(%x: !x, %w: !w, %y: !y) -> (!q, !k) {
  %q, %k = call @projections(%x, %y, %w) : (!x, !y, !w) -> (!q, !k)
  return %q, %k : !q, !k
}
func.func private @projections(%x: !x, %y: !y, %w: !w) -> (!q, !k) {
  %q = attn.linear %x, %w contract 1 : (!x, !w) -> !q
  %k = attn.linear %y, %w contract 1 : (!y, !w) -> !k
  return %q, %k : !q, !k
}

// Called twice, always with one tensor.
// CHECK-LABEL: @twice
// CHECK: call @shared(%arg0, %arg2)
// CHECK: call @shared(%arg1, %arg2)
func.func @twice(%x: !x, %y: !x, %w: !w) -> (!q, !k, !q, !k) {
  %xs = attn.relabel %x : !x -> !y
  %ys = attn.relabel %y : !x -> !y
  %q, %k = call @shared(%x, %xs, %w) : (!x, !y, !w) -> (!q, !k)
  %r, %l = call @shared(%y, %ys, %w) : (!x, !y, !w) -> (!q, !k)
  return %q, %k, %r, %l : !q, !k, !q, !k
}
// CHECK-LABEL: private @shared
// CHECK-SAME: (%arg0: tensor<?x8xf32, #attn.axes<"T", "D">>, %arg1: tensor<2x4x8xf32
// CHECK-NEXT: attn.linear %arg0, %arg1, %arg1
func.func private @shared(%x: !x, %y: !y, %w: !w) -> (!q, !k) {
  %q = attn.linear %x, %w contract 1 : (!x, !w) -> !q
  %k = attn.linear %y, %w contract 1 : (!y, !w) -> !k
  return %q, %k : !q, !k
}

// Called with one tensor, and with two: two arguments, two products.
// CHECK-LABEL: @both
// CHECK: call @cross(%arg0, %{{.*}}, %arg2)
func.func @both(%x: !x, %y: !x, %w: !w) -> (!q, !k, !q, !k) {
  %xs = attn.relabel %x : !x -> !y
  %ys = attn.relabel %y : !x -> !y
  %q, %k = call @cross(%x, %xs, %w) : (!x, !y, !w) -> (!q, !k)
  %r, %l = call @cross(%x, %ys, %w) : (!x, !y, !w) -> (!q, !k)
  return %q, %k, %r, %l : !q, !k, !q, !k
}
// CHECK-LABEL: private @cross
// CHECK-COUNT-2: attn.linear
func.func private @cross(%x: !x, %y: !y, %w: !w) -> (!q, !k) {
  %q = attn.linear %x, %w contract 1 : (!x, !w) -> !q
  %k = attn.linear %y, %w contract 1 : (!y, !w) -> !k
  return %q, %k : !q, !k
}
