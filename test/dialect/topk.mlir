// RUN: attn-opt %s | attn-opt | FileCheck %s

// CHECK-LABEL: func @places
func.func @places(%x: tensor<?x8xf32, #attn.axes<"B", "X">>) -> tensor<?x2xi32, #attn.axes<"B", "K">> {
  // CHECK: attn.topk %{{.*}} axis 1 : tensor<?x8xf32, #attn.axes<"B", "X">> -> tensor<?x2xi32, #attn.axes<"B", "K">>
  %r = attn.topk %x axis 1 : tensor<?x8xf32, #attn.axes<"B", "X">> -> tensor<?x2xi32, #attn.axes<"B", "K">>
  return %r : tensor<?x2xi32, #attn.axes<"B", "K">>
}

// All of them, in order, along an axis that is not the last.
// CHECK-LABEL: func @sorted
func.func @sorted(%x: tensor<8x?xf32, #attn.axes<"X", "B">>) -> tensor<8x?xi32, #attn.axes<"X", "B">> {
  // CHECK: attn.topk %{{.*}} axis 0
  %r = attn.topk %x axis 0 : tensor<8x?xf32, #attn.axes<"X", "B">> -> tensor<8x?xi32, #attn.axes<"X", "B">>
  return %r : tensor<8x?xi32, #attn.axes<"X", "B">>
}
