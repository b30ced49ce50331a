// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.map.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func @map_broadcasts_and_selects
func.func @map_broadcasts_and_selects(%x: tensor<?x3xf32, #attn.axes<"B", "D">>, %y: tensor<3xf32, #attn.axes<"D">>, %m: tensor<3xi1, #attn.axes<"D">>) -> tensor<?x3xf32, #attn.axes<"B", "D">> {
  // CHECK: attn.map(%{{.*}}, %{{.*}}, %{{.*}}) : (
  // CHECK: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[KEEP:.*]]: i1):
  // CHECK: arith.select %[[KEEP]], %[[X]], %[[Y]]
  // CHECK: attn.yield
  %r = attn.map(%x, %y, %m) : (tensor<?x3xf32, #attn.axes<"B", "D">>, tensor<3xf32, #attn.axes<"D">>, tensor<3xi1, #attn.axes<"D">>) -> tensor<?x3xf32, #attn.axes<"B", "D">> {
  ^bb0(%u: f32, %v: f32, %keep: i1):
    %0 = arith.select %keep, %u, %v : f32
    attn.yield %0 : f32
  }
  return %r : tensor<?x3xf32, #attn.axes<"B", "D">>
}
