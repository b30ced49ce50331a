// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.norm, with and without weight and bias.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func @norm
func.func @norm(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %g: tensor<3xf32, #attn.axes<"D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // CHECK: attn.norm %{{.*}} <layer, eps = 1.000000e-05 : f64> over 1 weight %{{.*}} bias %{{.*}} : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> weight tensor<3xf32, #attn.axes<"D">> bias tensor<3xf32
  %r = attn.norm %x <layer, eps = 1.0e-5> over 1 weight %g bias %g : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> weight tensor<3xf32, #attn.axes<"D">> bias tensor<3xf32, #attn.axes<"D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}

// CHECK-LABEL: func @offset
func.func @offset(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<4x3xf32, #attn.axes<"T", "D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // CHECK: attn.norm %{{.*}} <layer, eps = 0.000000e+00 : f64, offset = 1.000000e+00 : f64> over 2 weight %{{.*}} : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> weight tensor<4x3xf32, #attn.axes<"T", "D">>
  %r = attn.norm %x <layer, eps = 0.0, offset = 1.0> over 2 weight %w : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> weight tensor<4x3xf32, #attn.axes<"T", "D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}

// CHECK-LABEL: func @alone
func.func @alone(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // CHECK: attn.norm %{{.*}} <layer, eps = 1.000000e-05 : f64> over 1 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
  %r = attn.norm %x <layer, eps = 1.0e-5> over 1 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}

// CHECK-LABEL: func @length
func.func @length(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // CHECK: attn.norm %{{.*}} <l2, eps = 1.000000e-03 : f64> over 2 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
  %r = attn.norm %x <l2, eps = 1.0e-3> over 2 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}
