// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.linear in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @linear_c1(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected to contract 1 to 3 axes, but got 4}}
  %r = attn.linear %x, %w contract 4 : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c1_nothing(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected to contract 1 to 3 axes, but got 0}}
  %r = attn.linear %x, %w contract 0 : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c2(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">> {
  // expected-error@+1 {{expected a weight}}
  %r = "attn.linear"(%x) <{contract = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0>}> ({}) : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>) -> tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
  return %r : tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>
}

// -----

func.func @linear_c3(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x4xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected weights over the input's axes}}
  %r = attn.linear %x, %w contract 1 : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x4xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c4(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>, %b: tensor<5xf32, #attn.axes<"E">>) -> tensor<?x4x10xf32, #attn.axes<"B", "T", "N">> {
  // expected-error@+1 {{expected a bias for each of 2 weights, but got 1}}
  %r = attn.linear %x, %w, %w bias %b contract 1 : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>, tensor<5xf32, #attn.axes<"E">>) -> tensor<?x4x10xf32, #attn.axes<"B", "T", "N">>
  return %r : tensor<?x4x10xf32, #attn.axes<"B", "T", "N">>
}

// -----

func.func @linear_c4_size(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>, %b: tensor<6xf32, #attn.axes<"E">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected a bias of the weight's outputs, but got}}
  %r = attn.linear %x, %w bias %b contract 1 : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>, tensor<6xf32, #attn.axes<"E">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c5(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x6xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected the input's lifted axes and 5 outputs, but got}}
  %r = attn.linear %x, %w contract 1 : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x6xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x6xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c5_rank(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?xf32, #attn.axes<"B">> {
  // expected-error@+1 {{expected the input's lifted axes and 5 outputs, but got}}
  %r = attn.linear %x, %w contract 1 : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?xf32, #attn.axes<"B">>
  return %r : tensor<?xf32, #attn.axes<"B">>
}

// -----

func.func @linear_c6(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>, %c: tensor<5xf32, #attn.axes<"E">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected an epilogue of 2 arguments, but got 1}}
  %r = attn.linear %x, %w contract 1 captures(%c) epilogue {
  ^bb0(%s: f32):
    attn.yield %s : f32
  } : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>, tensor<5xf32, #attn.axes<"E">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c6_type(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected an epilogue of 'f32' elements, but got 'f64'}}
  %r = attn.linear %x, %w contract 1 epilogue {
  ^bb0(%s: f64):
    attn.yield %s : f64
  } : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c6_yield(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected an epilogue that yields 'f32'}}
  %r = attn.linear %x, %w contract 1 epilogue {
  ^bb0(%s: f32):
    %0 = arith.fptosi %s : f32 to i32
    attn.yield %0 : i32
  } : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c7(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>, %c: tensor<7xf32, #attn.axes<"Q">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected captures over axes of the result, but got axis "Q"}}
  %r = attn.linear %x, %w contract 1 captures(%c) epilogue {
  ^bb0(%sum: f32, %e: f32):
    %0 = arith.addf %sum, %e : f32
    attn.yield %0 : f32
  } : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>, tensor<7xf32, #attn.axes<"Q">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c7_size(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>, %c: tensor<6xf32, #attn.axes<"E">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected captures over axes of the result, but got axis "E"}}
  %r = attn.linear %x, %w contract 1 captures(%c) epilogue {
  ^bb0(%sum: f32, %e: f32):
    %0 = arith.addf %sum, %e : f32
    attn.yield %0 : f32
  } : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>, tensor<6xf32, #attn.axes<"E">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c8(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>, %g: tensor<3xf32, #attn.axes<"D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected a norm where it has weights or biases}}
  %r = attn.linear %x, %w norm_weight %g norm_bias %g contract 1 : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>, tensor<3xf32, #attn.axes<"D">>, tensor<3xf32, #attn.axes<"D">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c8_size(%x: tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, %w: tensor<5x3xf32, #attn.axes<"E", "D">>, %g: tensor<5xf32, #attn.axes<"E">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">> {
  // expected-error@+1 {{expected weights and biases of a norm over the contracted axes, but got}}
  %r = attn.linear %x, %w norm <layer, eps = 1.0e-6> norm_weight %g norm_bias %g contract 1 : (tensor<?x4x3xf32, #attn.axes<"B", "T", "D">>, tensor<5x3xf32, #attn.axes<"E", "D">>, tensor<5xf32, #attn.axes<"E">>, tensor<5xf32, #attn.axes<"E">>) -> tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
  return %r : tensor<?x4x5xf32, #attn.axes<"B", "T", "E">>
}

// -----

func.func @linear_c3_dynamic_outputs(%x: tensor<?x3xf32, #attn.axes<"B", "D">>, %w: tensor<?x3xf32, #attn.axes<"E", "D">>) -> tensor<?x?xf32, #attn.axes<"B", "E">> {
  // expected-error@+1 {{expected static outputs of a weight, but got}}
  %r = attn.linear %x, %w contract 1 : (tensor<?x3xf32, #attn.axes<"B", "D">>, tensor<?x3xf32, #attn.axes<"E", "D">>) -> tensor<?x?xf32, #attn.axes<"B", "E">>
  return %r : tensor<?x?xf32, #attn.axes<"B", "E">>
}
