// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.scan, attn.next.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

!xs = tensor<?x?x3xf32, #attn.axes<"B", "T", "I">>
!x = tensor<?x3xf32, #attn.axes<"B", "I">>
!ys = tensor<?x?x3xf32, #attn.axes<"T", "B", "I">>

// CHECK-LABEL: func @output_and_state
func.func @output_and_state(%xs: !xs, %h0: !x) -> (!ys, !x) {
  // CHECK: attn.scan over(%{{.*}}) from(%{{.*}}) along "T" : (
  %ys, %h = attn.scan over(%xs) from(%h0) along "T" : (!xs, !x) -> (!ys, !x) {
  ^bb0(%x: !x, %state: !x):
    // CHECK: attn.next %{{.*}}, %{{.*}} : tensor<?x3xf32
    attn.next %x, %state : !x, !x
  }
  return %ys, %h : !ys, !x
}

// CHECK-LABEL: func @reverse_without_state
func.func @reverse_without_state(%xs: !xs) -> !ys {
  // CHECK: attn.scan over(%{{.*}}) from() along "T" reverse : (
  %ys = attn.scan over(%xs) from() along "T" reverse : (!xs) -> !ys {
  ^bb0(%x: !x):
    attn.next %x : !x
  }
  return %ys : !ys
}
