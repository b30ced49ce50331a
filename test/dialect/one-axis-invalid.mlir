// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.concat and attn.slice in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @concat_c1(%c: tensor<1x3xf32, #attn.axes<"one", "D">>, %x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x5x3xf32, #attn.axes<"B", "N", "D">> {
  // expected-error@+1 {{expected an axis below 3, but got 3}}
  %r = attn.concat(%c, %x) axis 3 along [0, 1] : (tensor<1x3xf32, #attn.axes<"one", "D">>, tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x5x3xf32, #attn.axes<"B", "N", "D">>
  return %r : tensor<?x5x3xf32, #attn.axes<"B", "N", "D">>
}

// -----

func.func @concat_c2(%c: tensor<1x3xf32, #attn.axes<"one", "D">>, %x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x5x3xf32, #attn.axes<"B", "N", "D">> {
  // expected-error@+1 {{expected one 'along' for each of 2 inputs, but got 1}}
  %r = attn.concat(%c, %x) axis 1 along [0] : (tensor<1x3xf32, #attn.axes<"one", "D">>, tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x5x3xf32, #attn.axes<"B", "N", "D">>
  return %r : tensor<?x5x3xf32, #attn.axes<"B", "N", "D">>
}

// -----

func.func @concat_c3(%x: tensor<?x3xf32, #attn.axes<"T", "D">>, %y: tensor<?x3xf32, #attn.axes<"S", "D">>) -> tensor<?x3xf32, #attn.axes<"N", "D">> {
  // expected-error@+1 {{expected an axis of 'tensor<?x3xf32, #attn.axes<"S", "D">>' that is static or linear in one dim}}
  %r = attn.concat(%x, %y) axis 0 along [0, 0] : (tensor<?x3xf32, #attn.axes<"T", "D">>, tensor<?x3xf32, #attn.axes<"S", "D">>) -> tensor<?x3xf32, #attn.axes<"N", "D">>
  return %r : tensor<?x3xf32, #attn.axes<"N", "D">>
}

// -----

func.func @concat_c4(%c: tensor<1x3xf32, #attn.axes<"one", "D">>, %x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x5x4xf32, #attn.axes<"B", "N", "D">> {
  // expected-error@+1 {{expected the other axes to be the result's, but got}}
  %r = attn.concat(%c, %x) axis 1 along [0, 1] : (tensor<1x3xf32, #attn.axes<"one", "D">>, tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x5x4xf32, #attn.axes<"B", "N", "D">>
  return %r : tensor<?x5x4xf32, #attn.axes<"B", "N", "D">>
}

// -----

func.func @concat_c5(%c: tensor<1x3xf32, #attn.axes<"one", "D">>, %x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x6x3xf32, #attn.axes<"B", "N", "D">> {
  // expected-error@+1 {{expected a size of 5 along the axis, but got 'tensor<?x6x3xf32}}
  %r = attn.concat(%c, %x) axis 1 along [0, 1] : (tensor<1x3xf32, #attn.axes<"one", "D">>, tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x6x3xf32, #attn.axes<"B", "N", "D">>
  return %r : tensor<?x6x3xf32, #attn.axes<"B", "N", "D">>
}

// -----

func.func @concat_c5_dynamic(%c: tensor<1x3xf32, #attn.axes<"one", "D">>, %x: tensor<?x3xf32, #attn.axes<"T", "D">>) -> tensor<?x3xf32, #attn.axes<"T + 2", "D">> {
  // expected-error@+1 {{expected a size of 1 * T + 1 along the axis, but got}}
  %r = attn.concat(%c, %x) axis 0 along [0, 0] : (tensor<1x3xf32, #attn.axes<"one", "D">>, tensor<?x3xf32, #attn.axes<"T", "D">>) -> tensor<?x3xf32, #attn.axes<"T + 2", "D">>
  return %r : tensor<?x3xf32, #attn.axes<"T + 2", "D">>
}

// -----

func.func @slice_c1(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x3xf32, #attn.axes<"B", "D">> {
  // expected-error@+1 {{expected an axis of}}
  %r = attn.slice %x axis 3 at 0 drop : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> -> tensor<?x3xf32, #attn.axes<"B", "D">>
  return %r : tensor<?x3xf32, #attn.axes<"B", "D">>
}

// -----

func.func @slice_c2(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x3xf32, #attn.axes<"B", "D">> {
  // expected-error@+1 {{expected a result of rank 3, but got}}
  %r = attn.slice %x axis 1 at 0 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> -> tensor<?x3xf32, #attn.axes<"B", "D">>
  return %r : tensor<?x3xf32, #attn.axes<"B", "D">>
}

// -----

func.func @slice_c3(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x2x3xf32, #attn.axes<"B", "P", "D">> {
  // expected-error@+1 {{expected elements within 4, but got 2 at 3}}
  %r = attn.slice %x axis 1 at 3 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> -> tensor<?x2x3xf32, #attn.axes<"B", "P", "D">>
  return %r : tensor<?x2x3xf32, #attn.axes<"B", "P", "D">>
}

// -----

func.func @slice_c4(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x2x4xf32, #attn.axes<"B", "P", "D">> {
  // expected-error@+1 {{expected the other axes unchanged, but got}}
  %r = attn.slice %x axis 1 at 0 : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> -> tensor<?x2x4xf32, #attn.axes<"B", "P", "D">>
  return %r : tensor<?x2x4xf32, #attn.axes<"B", "P", "D">>
}

// -----

func.func @slice_c5(%x: tensor<?x4xf32, #attn.axes<"T", "D">>) -> tensor<4xf32, #attn.axes<"D">> {
  // expected-error@+1 {{expected no offset from the end of an axis, but got 1}}
  %r = attn.slice %x axis 0 at 1 end drop : tensor<?x4xf32, #attn.axes<"T", "D">> -> tensor<4xf32, #attn.axes<"D">>
  return %r : tensor<4xf32, #attn.axes<"D">>
}

// -----

func.func @concat_c4_axis_twice(%x: tensor<4xf32, #attn.axes<"D">>) -> tensor<4x4xf32, #attn.axes<"D", "D">> {
  // expected-error@+1 {{expected every axis once, but got}}
  %r = attn.concat(%x) axis 0 along [0] : (tensor<4xf32, #attn.axes<"D">>) -> tensor<4x4xf32, #attn.axes<"D", "D">>
  return %r : tensor<4x4xf32, #attn.axes<"D", "D">>
}
