// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map behind a linear that others read, too, can be in no epilogue: it is accepted.
// RUN: attn-opt %s -attn-check-fused | FileCheck %s

!x = tensor<?x8xf32, #attn.axes<"T", "D">>
!w = tensor<8x8xf32, #attn.axes<"D", "D">>

// CHECK-LABEL: @both
// CHECK: attn.map
func.func @both(%x: !x, %w: !w) -> (!x, !x) {
  %y = attn.linear %x, %w contract 1 : (!x, !w) -> !x
  %z = attn.map(%x, %y) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  return %y, %z : !x, !x
}
