// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.norm in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @norm_c2_weight(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %g: tensor<4xf32, #attn.axes<"D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // expected-error@+1 {{expected weight and bias over the last 1 axes of}}
  %r = attn.norm %x <layer, eps = 1.0e-5> over 1 weight %g bias %g : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> weight tensor<4xf32, #attn.axes<"D">> bias tensor<4xf32, #attn.axes<"D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}

// -----

func.func @norm_c2_bias(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %g: tensor<3xf32, #attn.axes<"D">>, %b: tensor<4xf32, #attn.axes<"D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // expected-error@+1 {{expected weight and bias over the last 1 axes of}}
  %r = attn.norm %x <layer, eps = 1.0e-5> over 1 weight %g bias %b : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> weight tensor<3xf32, #attn.axes<"D">> bias tensor<4xf32, #attn.axes<"D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}

// -----

func.func @norm_c3(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %g: tensor<3xf32, #attn.axes<"D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // expected-error@+1 {{expected eps of at least 0}}
  %r = attn.norm %x <layer, eps = -1.0> over 1 weight %g bias %g : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> weight tensor<3xf32, #attn.axes<"D">> bias tensor<3xf32, #attn.axes<"D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}

// -----

func.func @norm_c1(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // expected-error@+1 {{expected to be over 1 to 3 last axes, all of static size}}
  %r = attn.norm %x <layer, eps = 1.0e-5> over 3 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}

// -----

func.func @norm_c4(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // expected-error@+1 {{expected a finite offset}}
  %r = attn.norm %x <layer, eps = 1.0e-5, offset = 0x7FF0000000000000 : f64> over 1 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}
