// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map that two maps read stays, so that it is computed once.
// RUN: attn-opt %s -attn-fuse-map | FileCheck %s

!xs = tensor<16x8xf32, #attn.axes<"T", "U">>
!x = tensor<8xf32, #attn.axes<"U">>

// CHECK-LABEL: @twice
// CHECK-COUNT-3: attn.map
func.func @twice(%xs: !xs, %h0: !x, %c0: !x) -> (!x, !x) {
  %h1, %c1 = attn.scan over(%xs) from(%h0, %c0) along "T" : (!xs, !x, !x) -> (!x, !x) {
  ^bb0(%x: !x, %h: !x, %c: !x):
    %y = attn.map(%x) : (!x) -> !x {
    ^bb0(%e: f32):
      %f = math.tanh %e : f32
      attn.yield %f : f32
    }
    %z = attn.map(%y, %h) : (!x, !x) -> !x {
    ^bb0(%e: f32, %f: f32):
      %g = arith.mulf %e, %f : f32
      attn.yield %g : f32
    }
    %u = attn.map(%y, %c) : (!x, !x) -> !x {
    ^bb0(%e: f32, %f: f32):
      %g = arith.addf %e, %f : f32
      attn.yield %g : f32
    }
    attn.next %z, %u : !x, !x
  }
  return %h1, %c1 : !x, !x
}
