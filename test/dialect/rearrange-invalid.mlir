// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.rearrange and attn.relabel in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @rearrange_c1(%x: tensor<?x4x6xf32, #attn.axes<"B", "Y", "X">>) -> tensor<?x6x4xf32, #attn.axes<"B", "T", "P">> {
  // expected-error@+1 {{expected an order of all atoms, but got 1 out of range or twice}}
  %r = attn.rearrange %x split [1, 2, 2] atoms [-1, 2, 2, 3, 2] order [0, 1, 1, 2, 4] merge [1, 2, 2] : tensor<?x4x6xf32, #attn.axes<"B", "Y", "X">> -> tensor<?x6x4xf32, #attn.axes<"B", "T", "P">>
  return %r : tensor<?x6x4xf32, #attn.axes<"B", "T", "P">>
}

// -----

func.func @rearrange_c1_missing(%x: tensor<?x4x6xf32, #attn.axes<"B", "Y", "X">>) -> tensor<?x6x4xf32, #attn.axes<"B", "T", "P">> {
  // expected-error@+1 {{expected an order of 5 atoms, but got 4}}
  %r = attn.rearrange %x split [1, 2, 2] atoms [-1, 2, 2, 3, 2] order [0, 1, 3, 2] merge [1, 2, 2] : tensor<?x4x6xf32, #attn.axes<"B", "Y", "X">> -> tensor<?x6x4xf32, #attn.axes<"B", "T", "P">>
  return %r : tensor<?x6x4xf32, #attn.axes<"B", "T", "P">>
}

// -----

func.func @rearrange_c2(%x: tensor<?x4x6xf32, #attn.axes<"B", "Y", "X">>) -> tensor<?x6x4xf32, #attn.axes<"B", "T", "P">> {
  // expected-error@+1 {{expected atoms that make up the input's 'tensor<?x4x6xf32, #attn.axes<"B", "Y", "X">>', but got 2, 3}}
  %r = attn.rearrange %x split [1, 2, 2] atoms [-1, 2, 3, 3, 2] order [0, 1, 3, 2, 4] merge [1, 2, 2] : tensor<?x4x6xf32, #attn.axes<"B", "Y", "X">> -> tensor<?x6x4xf32, #attn.axes<"B", "T", "P">>
  return %r : tensor<?x6x4xf32, #attn.axes<"B", "T", "P">>
}

// -----

func.func @rearrange_c2_two_dynamic_atoms(%x: tensor<?xf32, #attn.axes<"B">>) -> tensor<?x?xf32, #attn.axes<"A", "B">> {
  // expected-error@+1 {{expected at most one dynamic atom of an axis of the input}}
  %r = attn.rearrange %x split [2] atoms [-1, -1] order [0, 1] merge [1, 1] : tensor<?xf32, #attn.axes<"B">> -> tensor<?x?xf32, #attn.axes<"A", "B">>
  return %r : tensor<?x?xf32, #attn.axes<"A", "B">>
}

// -----

func.func @rearrange_c3(%x: tensor<?x4x6xf32, #attn.axes<"B", "Y", "X">>) -> tensor<?x6x4xf32, #attn.axes<"B", "T", "P">> {
  // expected-error@+1 {{expected atoms that make up the result's 'tensor<?x6x4xf32, #attn.axes<"B", "T", "P">>', but got 2, 2}}
  %r = attn.rearrange %x split [1, 2, 2] atoms [-1, 2, 2, 3, 2] order [0, 1, 2, 3, 4] merge [1, 2, 2] : tensor<?x4x6xf32, #attn.axes<"B", "Y", "X">> -> tensor<?x6x4xf32, #attn.axes<"B", "T", "P">>
  return %r : tensor<?x6x4xf32, #attn.axes<"B", "T", "P">>
}

// -----

func.func @relabel_c1(%x: tensor<3xf32, #attn.axes<"D">>) -> tensor<4xf32, #attn.axes<"E">> {
  // expected-error@+1 {{expected the same shape, but got}}
  %r = attn.relabel %x : tensor<3xf32, #attn.axes<"D">> -> tensor<4xf32, #attn.axes<"E">>
  return %r : tensor<4xf32, #attn.axes<"E">>
}
