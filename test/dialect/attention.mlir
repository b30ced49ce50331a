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
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
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
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  } bias {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %s : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %0 = arith.cmpi sle, %j, %i : index
    attn.yield %0 : i1
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// CHECK-LABEL: func @attention_captures_and_further_results
func.func @attention_captures_and_further_results(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>, %m: tensor<2x4x5xi1, #attn.axes<"H", "T", "S">>, %s: tensor<2xf32, #attn.axes<"H">>) -> tensor<?x2x4x5xf32, #attn.axes<"B", "H", "T", "S">> {
  // CHECK: attn.attention %{{.*}} over %{{.*}}, %{{.*}} along "S" captures(%{{.*}}, %{{.*}}) {returned = [#attn<returned lse>, #attn<returned weights>]}
  // CHECK: } cap {
  // CHECK: } mask {
  // CHECK: attn.element %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : tensor<2x4x5xi1, {{.*}}> -> i1
  // CHECK: } sink {
  // CHECK: attn.element %{{.*}}[%{{.*}}] : tensor<2xf32, {{.*}}> -> f32
  %r, %l, %w = attn.attention %q over %k, %v along "S" captures(%m, %s) {returned = [#attn<returned lse>, #attn<returned weights>]} : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>, tensor<2x4x5xi1, #attn.axes<"H", "T", "S">>, tensor<2xf32, #attn.axes<"H">>) -> (tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>, tensor<?x2x4xf32, #attn.axes<"B", "H", "T">>, tensor<?x2x4x5xf32, #attn.axes<"B", "H", "T", "S">>) score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index, %cm: tensor<2x4x5xi1, #attn.axes<"H", "T", "S">>, %cs: tensor<2xf32, #attn.axes<"H">>):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  } cap {
  ^bb0(%x: f32):
    %0 = math.tanh %x : f32
    attn.yield %0 : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %cm: tensor<2x4x5xi1, #attn.axes<"H", "T", "S">>, %cs: tensor<2xf32, #attn.axes<"H">>):
    %0 = attn.element %cm[%h, %i, %j] : tensor<2x4x5xi1, #attn.axes<"H", "T", "S">> -> i1
    attn.yield %0 : i1
  } sink {
  ^bb0(%b: index, %h: index, %i: index, %cm: tensor<2x4x5xi1, #attn.axes<"H", "T", "S">>, %cs: tensor<2xf32, #attn.axes<"H">>):
    %0 = attn.element %cs[%h] : tensor<2xf32, #attn.axes<"H">> -> f32
    attn.yield %0 : f32
  }
  return %w : tensor<?x2x4x5xf32, #attn.axes<"B", "H", "T", "S">>
}
