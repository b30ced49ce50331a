// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.layernorm in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @layernorm_c1(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %g: tensor<4xf32, #attn.axes<"D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // expected-error@+1 {{expected gamma over the last axes of}}
  %r = attn.layernorm %x, %g, %g eps 1.0e-5 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<4xf32, #attn.axes<"D">>, tensor<4xf32, #attn.axes<"D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}

// -----

func.func @layernorm_c2(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %g: tensor<3xf32, #attn.axes<"D">>, %b: tensor<4xf32, #attn.axes<"D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // expected-error@+1 {{expected beta like gamma}}
  %r = attn.layernorm %x, %g, %b eps 1.0e-5 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<3xf32, #attn.axes<"D">>, tensor<4xf32, #attn.axes<"D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}

// -----

func.func @layernorm_c3(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %g: tensor<3xf32, #attn.axes<"D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // expected-error@+1 {{expected eps of at least 0}}
  %r = attn.layernorm %x, %g, %g eps -1.0 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<3xf32, #attn.axes<"D">>, tensor<3xf32, #attn.axes<"D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}
