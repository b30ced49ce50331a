// RUN: attn-opt %s | attn-opt | FileCheck %s

// attn.reduce, attn.softmax.

// CHECK-LABEL: func @mean
func.func @mean(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x3xf32, #attn.axes<"B", "D">> {
  // CHECK: attn.reduce mean(%{{.*}}) over ["T"] : {{.*}} -> tensor<?x3x
  %r = attn.reduce mean(%x) over ["T"] : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x3xf32, #attn.axes<"B", "D">>
  return %r : tensor<?x3xf32, #attn.axes<"B", "D">>
}

// CHECK-LABEL: func @largest_of_all
func.func @largest_of_all(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<f32, #attn.axes<>> {
  // CHECK: attn.reduce max(%{{.*}}) over ["T", "B"] : {{.*}} -> tensor<f32, #attn.axes<>>
  %r = attn.reduce max(%x) over ["T", "B"] : (tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<f32, #attn.axes<>>
  return %r : tensor<f32, #attn.axes<>>
}

// CHECK-LABEL: func @place
func.func @place(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<?xi32, #attn.axes<"B">> {
  // CHECK: attn.reduce argmax
  %r = attn.reduce argmax(%x) over ["T"] : (tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<?xi32, #attn.axes<"B">>
  return %r : tensor<?xi32, #attn.axes<"B">>
}

// CHECK-LABEL: func @products
func.func @products(%x: tensor<?x3x2xf32, #attn.axes<"T", "C", "K">>, %w: tensor<2x3xf32, #attn.axes<"K", "C">>) -> tensor<?x3xf32, #attn.axes<"T", "C">> {
  // CHECK: attn.reduce sum(%{{.*}}, %{{.*}}) over ["K"]
  // CHECK: arith.mulf
  %r = attn.reduce sum(%x, %w) over ["K"] : (tensor<?x3x2xf32, #attn.axes<"T", "C", "K">>, tensor<2x3xf32, #attn.axes<"K", "C">>) -> tensor<?x3xf32, #attn.axes<"T", "C">> {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    attn.yield %p : f32
  }
  return %r : tensor<?x3xf32, #attn.axes<"T", "C">>
}

// CHECK-LABEL: func @softmax
func.func @softmax(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<?x4xf32, #attn.axes<"B", "T">> {
  // CHECK: attn.softmax %{{.*}} axis 0 :
  %r = attn.softmax %x axis 0 : tensor<?x4xf32, #attn.axes<"B", "T">>
  return %r : tensor<?x4xf32, #attn.axes<"B", "T">>
}
