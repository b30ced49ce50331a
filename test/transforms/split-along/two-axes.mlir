// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linear for each place along two axes, of its own part of the tensor, in each layer.
// RUN: attn-opt %s -attn-split-along | FileCheck %s

!x = tensor<?x2x3x8xf32, #attn.axes<"T", "G", "H", "N">>
!w = tensor<8x3x2x4xf32, #attn.axes<"N", "H", "G", "K">>
!y = tensor<?x2x3x4xf32, #attn.axes<"T", "G", "H", "K">>

// CHECK-NOT: @w :
// CHECK: attn.param @w.H0.G0 : tensor<4x8xf32, #attn.axes<"K", "N">> from <"layers.{n}.w", [9, 24], offset = 5, strides = [1, 24]> layers 2 in {{ ?}}f32
// CHECK: attn.param @w.H0.G1 : {{.*}} offset = 9, strides = [1, 24]> layers 2 in {{ ?}}f32
// CHECK: attn.param @w.H2.G1 : {{.*}} offset = 25, strides = [1, 24]> layers 2 in {{ ?}}f32
attn.param @w : !w from <"layers.{n}.w", [9, 24], offset = 5, strides = [24, 8, 4, 1]> layers 2

// CHECK-LABEL: @heads(
// CHECK-SAME: %[[X:.*]]: tensor{{.*}}, %[[N:.*]]: index
// CHECK: attn.get @w.H0.G0[%[[N]]]
// CHECK: %[[H:.*]] = attn.slice %[[X]] axis 2 at 0
// CHECK: %[[HG:.*]] = attn.slice %[[H]] axis 1 at 1
// CHECK: %[[W:.*]] = attn.get @w.H0.G1[%[[N]]]
// CHECK: %[[Y:.*]] = attn.linear %[[HG]], %[[W]] contract 1 : {{.*}} -> tensor<?x1x1x4xf32
// CHECK: %[[G:.*]] = attn.concat(%{{.*}}, %[[Y]]) axis 1 along [1, 1]
// CHECK: %[[ALL:.*]] = attn.concat(%[[G]], %{{.*}}, %{{.*}}) axis 2 along [2, 2, 2]
// CHECK: return %[[ALL]]
func.func @heads(%x: !x, %n: index) -> !y {
  %w = attn.get @w[%n] : !w
  %y = attn.reduce sum(%x, %w) over ["N"] : (!x, !w) -> !y {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    attn.yield %p : f32
  }
  return %y : !y
}
