// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.concat, attn.slice.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func @concat
func.func @concat(%c: tensor<1x3xf32, #attn.axes<"one", "D">>, %x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x5x3xf32, #attn.axes<"B", "N", "D">> {
  // CHECK: attn.concat(%{{.*}}, %{{.*}}) axis 1 along [0, 1] : (
  %r = attn.concat(%c, %x) axis 1 along [0, 1] : (tensor<1x3xf32, #attn.axes<"one", "D">>, tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x5x3xf32, #attn.axes<"B", "N", "D">>
  return %r : tensor<?x5x3xf32, #attn.axes<"B", "N", "D">>
}

// CHECK-LABEL: func @slice
func.func @slice(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x2x3xf32, #attn.axes<"B", "P", "D">> {
  // CHECK: attn.slice %{{.*}} axis 1 at 2 : {{.*}} -> tensor<?x2x3x
  %r = attn.slice %x axis 1 at 2 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> -> tensor<?x2x3xf32, #attn.axes<"B", "P", "D">>
  return %r : tensor<?x2x3xf32, #attn.axes<"B", "P", "D">>
}

// CHECK-LABEL: func @slice_drop
func.func @slice_drop(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x3xf32, #attn.axes<"B", "D">> {
  // CHECK: attn.slice %{{.*}} axis 1 at 3 drop : {{.*}} -> tensor<?x3x
  %r = attn.slice %x axis 1 at 3 drop : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> -> tensor<?x3xf32, #attn.axes<"B", "D">>
  return %r : tensor<?x3xf32, #attn.axes<"B", "D">>
}
