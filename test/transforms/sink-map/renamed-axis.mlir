// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slice gives its axis a name: it passes an op unless the name is that of another axis which the op reads.
// RUN: attn-opt %s -attn-sink-map | FileCheck %s

// CHECK-LABEL: func @rows_of_linear
// CHECK:         %[[ROWS:.*]] = attn.slice %arg0 axis 0 at 1 : tensor<6x8xf32, #attn.axes<"T", "D">> -> tensor<4x8xf32, #attn.axes<"S", "D">>
// CHECK:         attn.linear %[[ROWS]], %arg1
func.func @rows_of_linear(%x: tensor<6x8xf32, #attn.axes<"T", "D">>, %w: tensor<3x8xf32, #attn.axes<"F", "D">>) -> tensor<4x3xf32, #attn.axes<"S", "F">> {
  %y = attn.linear %x, %w contract 1 : (tensor<6x8xf32, #attn.axes<"T", "D">>, tensor<3x8xf32, #attn.axes<"F", "D">>) -> tensor<6x3xf32, #attn.axes<"T", "F">>
  %r = attn.slice %y axis 0 at 1 : tensor<6x3xf32, #attn.axes<"T", "F">> -> tensor<4x3xf32, #attn.axes<"S", "F">>
  return %r : tensor<4x3xf32, #attn.axes<"S", "F">>
}

// CHECK-LABEL: func @called_like_contracted_axis
// CHECK:         %[[ALL:.*]] = attn.linear %arg0, %arg1
// CHECK:         attn.slice %[[ALL]] axis 0 at 1
func.func @called_like_contracted_axis(%x: tensor<9x8xf32, #attn.axes<"T", "D">>, %w: tensor<3x8xf32, #attn.axes<"F", "D">>) -> tensor<8x3xf32, #attn.axes<"D", "F">> {
  %y = attn.linear %x, %w contract 1 : (tensor<9x8xf32, #attn.axes<"T", "D">>, tensor<3x8xf32, #attn.axes<"F", "D">>) -> tensor<9x3xf32, #attn.axes<"T", "F">>
  %r = attn.slice %y axis 0 at 1 : tensor<9x3xf32, #attn.axes<"T", "F">> -> tensor<8x3xf32, #attn.axes<"D", "F">>
  return %r : tensor<8x3xf32, #attn.axes<"D", "F">>
}

// CHECK-LABEL: func @outputs_stay_one_product
// CHECK:         %[[BOTH:.*]] = attn.linear %arg0, %arg1
// CHECK-DAG:     attn.slice %[[BOTH]] axis 1 at 0
// CHECK-DAG:     attn.slice %[[BOTH]] axis 1 at 1
func.func @outputs_stay_one_product(%x: tensor<6x8xf32, #attn.axes<"T", "D">>, %w: tensor<3x8xf32, #attn.axes<"F", "D">>) -> (tensor<6x1xf32, #attn.axes<"T", "A">>, tensor<6x2xf32, #attn.axes<"T", "C">>) {
  %y = attn.linear %x, %w contract 1 : (tensor<6x8xf32, #attn.axes<"T", "D">>, tensor<3x8xf32, #attn.axes<"F", "D">>) -> tensor<6x3xf32, #attn.axes<"T", "F">>
  %a = attn.slice %y axis 1 at 0 : tensor<6x3xf32, #attn.axes<"T", "F">> -> tensor<6x1xf32, #attn.axes<"T", "A">>
  %c = attn.slice %y axis 1 at 1 : tensor<6x3xf32, #attn.axes<"T", "F">> -> tensor<6x2xf32, #attn.axes<"T", "C">>
  return %a, %c : tensor<6x1xf32, #attn.axes<"T", "A">>, tensor<6x2xf32, #attn.axes<"T", "C">>
}
