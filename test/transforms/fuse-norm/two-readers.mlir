// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A norm that two linears read is computed once, and stays.
// RUN: attn-opt %s -attn-fuse-norm | FileCheck %s

!x = tensor<?x8xf32, #attn.axes<"T", "D">>
!d = tensor<8xf32, #attn.axes<"D">>
!w = tensor<4x8xf32, #attn.axes<"F", "D">>
!y = tensor<?x4xf32, #attn.axes<"T", "F">>

// CHECK-LABEL: @twice
// CHECK: %[[N:.*]] = attn.norm %arg0
// CHECK: attn.linear %[[N]], %arg3 contract 1
// CHECK: attn.linear %[[N]], %arg4 contract 1
func.func @twice(%x: !x, %gain: !d, %shift: !d, %w: !w, %v: !w) -> (!y, !y) {
  %n = attn.norm %x <layer, eps = 1.0e-5> over 1 weight %gain bias %shift : !x weight !d bias !d
  %y = attn.linear %n, %w contract 1 : (!x, !w) -> !y
  %z = attn.linear %n, %v contract 1 : (!x, !w) -> !y
  return %y, %z : !y, !y
}
