// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.linear with each of its optional parts.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func @linear_alone
func.func @linear_alone(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // CHECK: attn.linear %{{.*}}, %{{.*}} contract 1 : (
  %r = attn.linear %x, %w contract 1 : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// CHECK-LABEL: func @linear_everything
func.func @linear_everything(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>, %b: tensor<5xf32, #attn.axes<"E">>, %g: tensor<3xf32, #attn.axes<"D">>, %c: tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // CHECK: attn.linear %{{.*}}, %{{.*}} bias %{{.*}} norm <layer, eps = {{.*}}> norm_weight %{{.*}} norm_bias %{{.*}} contract 1 captures(%{{.*}}) epilogue {
  // CHECK: ^bb0(%[[SUM:.*]]: f32, %[[E:.*]]: f32):
  // CHECK: arith.addf %[[SUM]], %[[E]]
  // CHECK: attn.yield
  %r = attn.linear %x, %w bias %b norm <layer, eps = 1.0e-6> norm_weight %g norm_bias %g contract 1 captures(%c) epilogue {
  ^bb0(%sum: f32, %e: f32):
    %0 = arith.addf %sum, %e : f32
    attn.yield %0 : f32
  } : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>, tensor<5xf32, #attn.axes<"E">>, tensor<3xf32, #attn.axes<"D">>, tensor<3xf32, #attn.axes<"D">>, tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// CHECK-LABEL: func @linear_packed_projections
func.func @linear_packed_projections(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>, %b: tensor<5xf32, #attn.axes<"E">>) -> tensor<?x4x10xf32, #attn.axes<"B", "T", "N">> {
  // CHECK: attn.linear %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}}, %{{.*}} contract 1 : (
  %r = attn.linear %x, %w, %w bias %b, %b contract 1 : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>, tensor<5xf32, #attn.axes<"E">>, tensor<5xf32, #attn.axes<"E">>) -> tensor<?x4x10xf32, #attn.axes<"B", "T", "N">>
  return %r : tensor<?x4x10xf32, #attn.axes<"B", "T", "N">>
}
