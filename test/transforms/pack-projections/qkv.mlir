// RUN: attn-opt %s -attn-fuse-norm -attn-pack-projections -attn-fuse-norm | FileCheck %s

!x = tensor<?x5x8xf32, #attn.axes<"B", "T", "D">>
!d = tensor<8xf32, #attn.axes<"D">>
!w = tensor<2x4x8xf32, #attn.axes<"H", "E", "D">>
!b = tensor<2x4xf32, #attn.axes<"H", "E">>
!q = tensor<?x5x2x4xf32, #attn.axes<"B", "T", "H", "E">>

// The norm has one reader once q, k and v are one product.
// CHECK-LABEL: @qkv
func.func @qkv(%x: !x, %g: !d, %h: !d, %w: !w, %b: !b) -> (!q, !q, !q) {
  // CHECK-NOT: attn.norm
  // CHECK: %[[Y:.*]] = attn.linear %arg0, %arg3, %arg3, %arg3 bias %arg4, %arg4, %arg4 norm <layer, eps = {{.*}}> norm_weight %arg1 norm_bias %arg2 contract 1
  // CHECK-SAME: -> tensor<?x5x24xf32, #attn.axes<"B", "T", "packed">>
  // CHECK: attn.slice %[[Y]] axis 2 at 0
  // CHECK: attn.slice %[[Y]] axis 2 at 8
  // CHECK: %[[V:.*]] = attn.slice %[[Y]] axis 2 at 16
  // CHECK: attn.rearrange %[[V]] split [1, 1, 2] atoms [-1, 5, 2, 4]
  %n = attn.norm %x <layer, eps = 1.0e-6> over 1 weight %g bias %h : !x weight !d bias !d
  %q = attn.linear %n, %w bias %b contract 1 : (!x, !w, !b) -> !q
  %k = attn.linear %n, %w bias %b contract 1 : (!x, !w, !b) -> !q
  %v = attn.linear %n, %w bias %b contract 1 : (!x, !w, !b) -> !q
  return %q, %k, %v : !q, !q, !q
}
