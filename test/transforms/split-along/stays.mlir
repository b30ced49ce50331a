// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing becomes a linear that would be slower so, or none at all: weights of each channel, other
// sums than those of products, and products of two tensors that are computed.
// RUN: attn-opt %s -attn-split-along | FileCheck %s

!x = tensor<?x2x8xf32, #attn.axes<"T", "H", "N">>
!w = tensor<8x2x4xf32, #attn.axes<"N", "H", "K">>
!c = tensor<2x8xf32, #attn.axes<"H", "N">>
!y = tensor<?x2x4xf32, #attn.axes<"T", "H", "K">>
!d = tensor<?x2xf32, #attn.axes<"T", "H">>

// CHECK: attn.param @w :
attn.param @w : !w from <"w", [8, 8], offset = 0, strides = [8, 4, 1]>
// CHECK: attn.param @c :
attn.param @c : !c from <"c", [2, 8], offset = 0, strides = [8, 1]>

// CHECK-NOT: attn.linear
func.func @channels(%x: !x) -> !d {
  %c = attn.get @c : !c
  %y = attn.reduce sum(%x, %c) over ["N"] : (!x, !c) -> !d {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    attn.yield %p : f32
  }
  return %y : !d
}

func.func @sums(%x: !x) -> !y {
  %w = attn.get @w : !w
  %y = attn.reduce sum(%x, %w) over ["N"] : (!x, !w) -> !y {
  ^bb0(%a: f32, %b: f32):
    %p = arith.addf %a, %b : f32
    attn.yield %p : f32
  }
  return %y : !y
}

func.func @computed(%x: !x, %w: !w) -> !y {
  %y = attn.reduce sum(%x, %w) over ["N"] : (!x, !w) -> !y {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    attn.yield %p : f32
  }
  return %y : !y
}
