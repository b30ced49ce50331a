// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows and elements by index, constants, turned pairs: printed as they are read.
// RUN: attn-opt %s | attn-opt | FileCheck %s

attn.dim @T dyn 3

// CHECK-LABEL: @lookup
// CHECK: attn.lookup %{{.*}}[%{{.*}}] : (tensor<9x4xf32, #attn.axes<"V", "D">>, tensor<?x5xi64, #attn.axes<"T", "N">>) -> tensor<?x5x4xf32, #attn.axes<"T", "N", "D">>
func.func @lookup(%table: tensor<9x4xf32, #attn.axes<"V", "D">>, %ids: tensor<?x5xi64, #attn.axes<"T", "N">>) -> tensor<?x5x4xf32, #attn.axes<"T", "N", "D">> {
  %r = attn.lookup %table[%ids] : (tensor<9x4xf32, #attn.axes<"V", "D">>, tensor<?x5xi64, #attn.axes<"T", "N">>) -> tensor<?x5x4xf32, #attn.axes<"T", "N", "D">>
  return %r : tensor<?x5x4xf32, #attn.axes<"T", "N", "D">>
}

// CHECK-LABEL: @table
// CHECK: attn.table dense<[0, 1, 2]> : tensor<3xi32> : tensor<?xi32, #attn.axes<"T">>
func.func @table() -> tensor<?xi32, #attn.axes<"T">> {
  %r = attn.table dense<[0, 1, 2]> : tensor<3xi32> : tensor<?xi32, #attn.axes<"T">>
  return %r : tensor<?xi32, #attn.axes<"T">>
}

// CHECK-LABEL: @angles
// CHECK: attn.table #attn.angles<sin, [1.000000e+00, 1.000000e-01]> : tensor<3x2xf32> : tensor<?x2xf32, #attn.axes<"T", "P">>
func.func @angles() -> tensor<?x2xf32, #attn.axes<"T", "P">> {
  %r = attn.table #attn.angles<sin, [1.0, 0.1]> : tensor<3x2xf32> : tensor<?x2xf32, #attn.axes<"T", "P">>
  return %r : tensor<?x2xf32, #attn.axes<"T", "P">>
}

// CHECK-LABEL: @rotary
// CHECK: attn.rotary %{{.*}} by %{{.*}}, %{{.*}} : tensor<?x2x6xf32
// CHECK: attn.rotary %{{.*}} by %{{.*}}, %{{.*}} interleaved : tensor<?x2x6xf32
func.func @rotary(%x: tensor<?x2x6xf32, #attn.axes<"T", "H", "E">>, %cos: tensor<?x3xf32, #attn.axes<"T", "E/2">>) -> tensor<?x2x6xf32, #attn.axes<"T", "H", "E">> {
  %0 = attn.rotary %x by %cos, %cos : tensor<?x2x6xf32, #attn.axes<"T", "H", "E">>, tensor<?x3xf32, #attn.axes<"T", "E/2">>
  %1 = attn.rotary %0 by %cos, %cos interleaved : tensor<?x2x6xf32, #attn.axes<"T", "H", "E">>, tensor<?x3xf32, #attn.axes<"T", "E/2">>
  return %1 : tensor<?x2x6xf32, #attn.axes<"T", "H", "E">>
}

// CHECK-LABEL: @pick
// CHECK: attn.pick %{{.*}} axis 1 at %{{.*}} : (tensor<2x?x4xf32, #attn.axes<"B", "T", "D">>, tensor<2xi32, #attn.axes<"B">>) -> tensor<2x4xf32, #attn.axes<"B", "D">>
// CHECK: attn.pick %{{.*}} axis 1 at %{{.*}} : (tensor<2x?x4xf32, #attn.axes<"B", "T", "D">>, tensor<?x3xi64, #attn.axes<"T", "N">>) -> tensor<2x?x3x4xf32, #attn.axes<"B", "T", "N", "D">>
func.func @pick(%x: tensor<2x?x4xf32, #attn.axes<"B", "T", "D">>, %i: tensor<2xi32, #attn.axes<"B">>, %j: tensor<?x3xi64, #attn.axes<"T", "N">>) -> tensor<2x4xf32, #attn.axes<"B", "D">> {
  %0 = attn.pick %x axis 1 at %i : (tensor<2x?x4xf32, #attn.axes<"B", "T", "D">>, tensor<2xi32, #attn.axes<"B">>) -> tensor<2x4xf32, #attn.axes<"B", "D">>
  %1 = attn.pick %x axis 1 at %j : (tensor<2x?x4xf32, #attn.axes<"B", "T", "D">>, tensor<?x3xi64, #attn.axes<"T", "N">>) -> tensor<2x?x3x4xf32, #attn.axes<"B", "T", "N", "D">>
  return %0 : tensor<2x4xf32, #attn.axes<"B", "D">>
}
