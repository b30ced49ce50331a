// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A window without channels lies in memory as it is contracted: weights stay as they are.
// RUN: attn-opt %s -attn-order-contraction | FileCheck %s

!x = tensor<?x9xf32, #attn.axes<"B", "T">>
!windows = tensor<?x7x3xf32, #attn.axes<"B", "S", "K">>
!y = tensor<?x7x4xf32, #attn.axes<"B", "S", "D">>

// CHECK: attn.param @w : tensor<4x3xf32, #attn.axes<"D", "K">> from <"w", [4, 3], offset = 0, strides = [3, 1]>
attn.param @w : tensor<4x3xf32, #attn.axes<"D", "K">> from #attn.source<"w", [4, 3], offset = 0, strides = [3, 1]>

// CHECK-LABEL: @convolution
// CHECK-NOT: attn.rearrange
// CHECK: attn.linear %{{.*}}, %{{.*}} contract 1
func.func @convolution(%x: !x) -> !y {
  %w = attn.get @w : tensor<4x3xf32, #attn.axes<"D", "K">>
  %windows = attn.windows %x axes [1] by [1] dilated [1] : !x -> !windows
  %y = attn.linear %windows, %w contract 1 : (!windows, tensor<4x3xf32, #attn.axes<"D", "K">>) -> !y
  return %y : !y
}
