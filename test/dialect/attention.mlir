// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.attention with and without its optional hooks, and the ops inside them.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func @attention_score_only
func.func @attention_score_only(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // CHECK: attn.attention %{{.*}} over %{{.*}}, %{{.*}} along "S" : (
  // CHECK: score {
  // CHECK: attn.dot %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>
  // CHECK: attn.yield %{{.*}} : f32
  // CHECK: } normaliser {
  // CHECK: attn.softmax %{{.*}} : tensor<5xf32>
  // CHECK: attn.yield %{{.*}} : tensor<5xf32>
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  } normaliser {
  ^bb0(%row: tensor<5xf32>):
    %0 = attn.softmax %row : tensor<5xf32>
    attn.yield %0 : tensor<5xf32>
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// CHECK-LABEL: func @attention_every_hook
func.func @attention_every_hook(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // CHECK: score {
  // CHECK: } bias {
  // CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
  // CHECK: } mask {
  // CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
  // CHECK: attn.yield %{{.*}} : i1
  // CHECK: } normaliser {
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  } bias {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %s : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %0 = arith.cmpi sle, %j, %i : index
    attn.yield %0 : i1
  } normaliser {
  ^bb0(%row: tensor<5xf32>):
    %0 = attn.softmax %row : tensor<5xf32>
    attn.yield %0 : tensor<5xf32>
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}
