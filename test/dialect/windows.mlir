// RUN: attn-opt %s | attn-opt | FileCheck %s

// attn.pad, attn.windows.

// CHECK-LABEL: func @borders
func.func @borders(%x: tensor<?x3xf32, #attn.axes<"2*T", "C">>) -> tensor<?x3xf32, #attn.axes<"2*T + 3", "C">> {
  // CHECK: attn.pad %{{.*}} by [1, 0], [2, 0] with 0xFF800000
  %r = attn.pad %x by [1, 0], [2, 0] with 0xFF800000 : tensor<?x3xf32, #attn.axes<"2*T", "C">> -> tensor<?x3xf32, #attn.axes<"2*T + 3", "C">>
  return %r : tensor<?x3xf32, #attn.axes<"2*T + 3", "C">>
}

// CHECK-LABEL: func @strided
func.func @strided(%x: tensor<?x3xf32, #attn.axes<"2*T + 2", "C">>) -> tensor<?x3x3xf32, #attn.axes<"T", "C", "K">> {
  // CHECK: attn.windows %{{.*}} axes [0] by [2] dilated [1]
  %r = attn.windows %x axes [0] by [2] dilated [1] : tensor<?x3xf32, #attn.axes<"2*T + 2", "C">> -> tensor<?x3x3xf32, #attn.axes<"T", "C", "K">>
  return %r : tensor<?x3x3xf32, #attn.axes<"T", "C", "K">>
}

// CHECK-LABEL: func @dilated
func.func @dilated(%x: tensor<9x8xf32, #attn.axes<"Y", "X">>) -> tensor<5x7x3x2xf32, #attn.axes<"Y2", "X2", "P", "Q">> {
  // CHECK: attn.windows %{{.*}} axes [0, 1] by [1, 1] dilated [2, 1]
  %r = attn.windows %x axes [0, 1] by [1, 1] dilated [2, 1] : tensor<9x8xf32, #attn.axes<"Y", "X">> -> tensor<5x7x3x2xf32, #attn.axes<"Y2", "X2", "P", "Q">>
  return %r : tensor<5x7x3x2xf32, #attn.axes<"Y2", "X2", "P", "Q">>
}
