// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.layernorm.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func @layernorm
func.func @layernorm(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %g: tensor<3xf32, #attn.axes<"D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // CHECK: attn.layernorm %{{.*}}, %{{.*}}, %{{.*}} eps {{.*}} : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<3xf32, #attn.axes<"D">>, tensor<3xf32
  %r = attn.layernorm %x, %g, %g eps 1.0e-5 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<3xf32, #attn.axes<"D">>, tensor<3xf32, #attn.axes<"D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}
