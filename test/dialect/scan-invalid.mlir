// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.scan in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @scan_c1(%h0: tensor<3xf32, #attn.axes<"I">>) {
  // expected-error@+1 {{expected an input at least}}
  %h = attn.scan over() from(%h0) along "T" : (tensor<3xf32, #attn.axes<"I">>) -> tensor<3xf32, #attn.axes<"I">> {
  ^bb0(%h1: tensor<3xf32, #attn.axes<"I">>):
    attn.next %h1 : tensor<3xf32, #attn.axes<"I">>
  }
  return
}

// -----

func.func @scan_c2(%xs: tensor<?x3xf32, #attn.axes<"T", "I">>, %h0: tensor<3xf32, #attn.axes<"I">>) {
  // expected-error@+1 {{expected a body of 1 inputs and 1 states, but got 1 arguments}}
  %h = attn.scan over(%xs) from(%h0) along "T" : (tensor<?x3xf32, #attn.axes<"T", "I">>, tensor<3xf32, #attn.axes<"I">>) -> tensor<3xf32, #attn.axes<"I">> {
  ^bb0(%x: tensor<3xf32, #attn.axes<"I">>):
    attn.next %x : tensor<3xf32, #attn.axes<"I">>
  }
  return
}

// -----

func.func @scan_c3(%xs: tensor<?x3xf32, #attn.axes<"T", "I">>, %h0: tensor<4xf32, #attn.axes<"J">>) {
  // expected-error@+1 {{expected an input with the axis "T"}}
  %h = attn.scan over(%xs) from(%h0) along "T" : (tensor<?x3xf32, #attn.axes<"T", "I">>, tensor<4xf32, #attn.axes<"J">>) -> tensor<4xf32, #attn.axes<"J">> {
  ^bb0(%x: tensor<4xf32, #attn.axes<"J">>, %h1: tensor<4xf32, #attn.axes<"J">>):
    attn.next %h1 : tensor<4xf32, #attn.axes<"J">>
  }
  return
}

// -----

func.func @scan_c4(%xs: tensor<?x3xf32, #attn.axes<"T", "I">>, %h0: tensor<3xf32, #attn.axes<"I">>) {
  // expected-error@+1 {{expected a body that ends with attn.next of 1 tensors}}
  %h = attn.scan over(%xs) from(%h0) along "T" : (tensor<?x3xf32, #attn.axes<"T", "I">>, tensor<3xf32, #attn.axes<"I">>) -> tensor<3xf32, #attn.axes<"I">> {
  ^bb0(%x: tensor<3xf32, #attn.axes<"I">>, %h1: tensor<3xf32, #attn.axes<"I">>):
    attn.next %x, %h1 : tensor<3xf32, #attn.axes<"I">>, tensor<3xf32, #attn.axes<"I">>
  }
  return
}

// -----

func.func @scan_c5(%xs: tensor<?x3xf32, #attn.axes<"T", "I">>, %h0: tensor<3xf32, #attn.axes<"I">>) {
  // expected-error@+1 {{expected a result with the axis "T"}}
  %y, %h = attn.scan over(%xs) from(%h0) along "T" : (tensor<?x3xf32, #attn.axes<"T", "I">>, tensor<3xf32, #attn.axes<"I">>) -> (tensor<3xf32, #attn.axes<"I">>, tensor<3xf32, #attn.axes<"I">>) {
  ^bb0(%x: tensor<3xf32, #attn.axes<"I">>, %h1: tensor<3xf32, #attn.axes<"I">>):
    attn.next %x, %h1 : tensor<3xf32, #attn.axes<"I">>, tensor<3xf32, #attn.axes<"I">>
  }
  return
}

// -----

func.func @scan_c6(%xs: tensor<?x3xf32, #attn.axes<"T", "I">>, %h0: tensor<4xf32, #attn.axes<"J">>) {
  // expected-error@+1 {{expected the state}}
  %h = attn.scan over(%xs) from(%h0) along "T" : (tensor<?x3xf32, #attn.axes<"T", "I">>, tensor<4xf32, #attn.axes<"J">>) -> tensor<4xf32, #attn.axes<"J">> {
  ^bb0(%x: tensor<3xf32, #attn.axes<"I">>, %h1: tensor<4xf32, #attn.axes<"J">>):
    attn.next %x : tensor<3xf32, #attn.axes<"I">>
  }
  return
}
