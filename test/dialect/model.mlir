// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.dim, attn.param, attn.get, attn.state, attn.push, attn.size, and the attributes of a model.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK: attn.model = "tiny"
module attributes {attn.model = "tiny", attn.ignore = ["old.*"]} {
// CHECK: attn.dim @B dyn 64
attn.dim @B dyn 64
// CHECK: attn.dim @D 2
attn.dim @D 2
// CHECK: attn.param @w : tensor<3x2xf32, #attn.axes<"E", "D">> from <"blocks.{n}.w", [12], offset = 1, strides = [2, 1]> layers 4
attn.param @w : tensor<3x2xf32, #attn.axes<"E", "D">> from #attn.source<"blocks.{n}.w", [12], offset = 1, strides = [2, 1]> layers 4
// CHECK: attn.param @b : tensor<2xf16, #attn.axes<"D">> from <"b", [2], offset = 1, strides = [-1]> optional
attn.param @b : tensor<2xf16, #attn.axes<"D">> from #attn.source<"b", [2], offset = 1, strides = [-1]> optional
// CHECK: attn.param @scale : tensor<f32, #attn.axes<>> from <"logit_scale", [], offset = 0, strides = []>
attn.param @scale : tensor<f32, #attn.axes<>> from #attn.source<"logit_scale", [], offset = 0, strides = []>
// CHECK: attn.dim @kv dyn 50 cache
attn.dim @kv dyn 50 cache
// CHECK: attn.state @kv.key : tensor<?x?x2xf32, #attn.axes<"B", "kv", "E">> in @kv layers 4
attn.state @kv.key : tensor<?x?x2xf32, #attn.axes<"B", "kv", "E">> in @kv layers 4

// CHECK-LABEL: func @push
func.func @push(%n: index, %x: tensor<?x1x2xf32, #attn.axes<"B", "T", "E">>) -> (tensor<?x?x2xf32, #attn.axes<"B", "S:kv", "E">>, index) {
  // CHECK: attn.push %{{.*}} into @kv.key[%{{.*}}] : tensor<?x1x2xf32, #attn.axes<"B", "T", "E">> -> tensor<?x?x2xf32, #attn.axes<"B", "S:kv", "E">>
  %r = attn.push %x into @kv.key[%n] : tensor<?x1x2xf32, #attn.axes<"B", "T", "E">> -> tensor<?x?x2xf32, #attn.axes<"B", "S:kv", "E">>
  // CHECK: attn.size @kv
  %s = attn.size @kv
  return %r, %s : tensor<?x?x2xf32, #attn.axes<"B", "S:kv", "E">>, index
}

// CHECK-LABEL: func @get_layer
func.func @get_layer(%n: index) -> tensor<3x2xf32, #attn.axes<"E", "D">> {
  // CHECK: attn.get @w[%{{.*}}] : tensor<3x2xf32
  %r = attn.get @w[%n] : tensor<3x2xf32, #attn.axes<"E", "D">>
  return %r : tensor<3x2xf32, #attn.axes<"E", "D">>
}

// CHECK-LABEL: func @get
func.func @get() -> tensor<2xf16, #attn.axes<"D">> {
  // CHECK: attn.get @b : tensor<2xf16
  %r = attn.get @b : tensor<2xf16, #attn.axes<"D">>
  return %r : tensor<2xf16, #attn.axes<"D">>
}
}
