// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.rearrange and attn.relabel.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func @rearrange_into_patches
func.func @rearrange_into_patches(%x: tensor<?x4x6xf32, #attn.axes<"B", "Y", "X">>) -> tensor<?x6x4xf32, #attn.axes<"B", "T", "P">> {
  // CHECK: attn.rearrange %{{.*}} split [1, 2, 2] atoms [-1, 2, 2, 3, 2] order [0, 1, 3, 2, 4] merge [1, 2, 2] : {{.*}} ->
  %r = attn.rearrange %x split [1, 2, 2] atoms [-1, 2, 2, 3, 2] order [0, 1, 3, 2, 4] merge [1, 2, 2] : tensor<?x4x6xf32, #attn.axes<"B", "Y", "X">> -> tensor<?x6x4xf32, #attn.axes<"B", "T", "P">>
  return %r : tensor<?x6x4xf32, #attn.axes<"B", "T", "P">>
}

// CHECK-LABEL: func @relabel
func.func @relabel(%x: tensor<3xf32, #attn.axes<"D">>) -> tensor<3xf32, #attn.axes<"E">> {
  // CHECK: attn.relabel %{{.*}} : tensor<3xf32, #attn.axes<"D">> -> tensor<3xf32, #attn.axes<"E">>
  %r = attn.relabel %x : tensor<3xf32, #attn.axes<"D">> -> tensor<3xf32, #attn.axes<"E">>
  return %r : tensor<3xf32, #attn.axes<"E">>
}
