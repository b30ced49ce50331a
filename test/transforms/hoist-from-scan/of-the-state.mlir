// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What depends on a state is computed step by step; the weights alone move in front of the scan.
// RUN: attn-opt %s -attn-hoist-from-scan -canonicalize | FileCheck %s

!x = tensor<?x4x8xf32, #attn.axes<"T", "B", "U">>
!h = tensor<4x8xf32, #attn.axes<"B", "U">>
!w = tensor<8x8xf32, #attn.axes<"U", "U">>

attn.dim @T dyn 16
attn.param @w : !w from #attn.source<"w", [8, 8], offset = 0, strides = [8, 1]>

// CHECK-LABEL: @rnn
// CHECK: %[[W:.*]] = attn.get @w
// CHECK-NOT: attn.linear
// CHECK: attn.scan over(%arg0)
// CHECK: attn.linear %{{.*}}, %[[W]] contract 1 : (tensor<4x8xf32
func.func @rnn(%x: !x, %h0: !h) -> !h attributes {attn.entry} {
  %last = attn.scan over(%x) from(%h0) along "T" : (!x, !h) -> !h {
  ^bb0(%xt: !h, %h: !h):
    %w = attn.get @w : !w
    %hh = attn.linear %h, %w contract 1 : (!h, !w) -> !h
    %next = attn.map(%xt, %hh) : (!h, !h) -> !h {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      attn.yield %c : f32
    }
    attn.next %next : !h
  }
  return %last : !h
}
