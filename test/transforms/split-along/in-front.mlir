// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is contracted is put last, and what is computed into the order of the result's axes.
// RUN: attn-opt %s -attn-split-along | FileCheck %s

!x = tensor<2x8x?xf32, #attn.axes<"H", "N", "T">>
!w = tensor<2x8x4xf32, #attn.axes<"H", "N", "K">>
!y = tensor<?x4x2xf32, #attn.axes<"T", "K", "H">>

attn.param @w : !w from <"w", [2, 32], offset = 0, strides = [32, 4, 1]>

// CHECK-LABEL: @turned
// CHECK: attn.rearrange %{{.*}} -> tensor<2x?x8xf32, #attn.axes<"H", "T", "N">>
// CHECK: attn.linear {{.*}} -> tensor<1x?x4xf32, #attn.axes<"H", "T", "K">>
// CHECK: attn.concat({{.*}}) axis 0 along [0, 0]
// CHECK: attn.rearrange %{{.*}} -> tensor<?x4x2xf32, #attn.axes<"T", "K", "H">>
func.func @turned(%x: !x) -> !y {
  %w = attn.get @w : !w
  %y = attn.reduce sum(%w, %x) over ["N"] : (!w, !x) -> !y {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %b, %a : f32
    attn.yield %p : f32
  }
  return %y : !y
}
