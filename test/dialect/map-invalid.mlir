// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.map in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @map_c1(%x: tensor<?x3xf32, #attn.axes<"B", "D">>) -> tensor<?x3xf32, #attn.axes<"B", "D">> {
  // expected-error@+1 {{expected 1 block arguments, but got 2}}
  %r = attn.map(%x) : (tensor<?x3xf32, #attn.axes<"B", "D">>) -> tensor<?x3xf32, #attn.axes<"B", "D">> {
  ^bb0(%u: f32, %v: f32):
    attn.yield %u : f32
  }
  return %r : tensor<?x3xf32, #attn.axes<"B", "D">>
}

// -----

func.func @map_c2(%x: tensor<?x3xf32, #attn.axes<"B", "D">>) -> tensor<?x3xf32, #attn.axes<"B", "D">> {
  // expected-error@+1 {{expected a block argument of type 'f32', but got 'i32'}}
  %r = attn.map(%x) : (tensor<?x3xf32, #attn.axes<"B", "D">>) -> tensor<?x3xf32, #attn.axes<"B", "D">> {
  ^bb0(%u: i32):
    %0 = arith.sitofp %u : i32 to f32
    attn.yield %0 : f32
  }
  return %r : tensor<?x3xf32, #attn.axes<"B", "D">>
}

// -----

func.func @map_c3(%x: tensor<?x3xf32, #attn.axes<"B", "D">>) -> tensor<3xf32, #attn.axes<"D">> {
  // expected-error@+1 {{expected an axis of the result}}
  %r = attn.map(%x) : (tensor<?x3xf32, #attn.axes<"B", "D">>) -> tensor<3xf32, #attn.axes<"D">> {
  ^bb0(%u: f32):
    attn.yield %u : f32
  }
  return %r : tensor<3xf32, #attn.axes<"D">>
}

// -----

func.func @map_c3_size(%x: tensor<4xf32, #attn.axes<"D">>) -> tensor<3xf32, #attn.axes<"D">> {
  // expected-error@+1 {{expected an axis of the result}}
  %r = attn.map(%x) : (tensor<4xf32, #attn.axes<"D">>) -> tensor<3xf32, #attn.axes<"D">> {
  ^bb0(%u: f32):
    attn.yield %u : f32
  }
  return %r : tensor<3xf32, #attn.axes<"D">>
}

// -----

func.func @map_c4(%x: tensor<3xi1, #attn.axes<"D">>) -> tensor<3xf32, #attn.axes<"D">> {
  // expected-error@+1 {{expected to yield 'f32', but got 'i1'}}
  %r = attn.map(%x) : (tensor<3xi1, #attn.axes<"D">>) -> tensor<3xf32, #attn.axes<"D">> {
  ^bb0(%u: i1):
    attn.yield %u : i1
  }
  return %r : tensor<3xf32, #attn.axes<"D">>
}

// -----

func.func @map_c3_axis_twice(%x: tensor<4x4xf32, #attn.axes<"D", "D">>) -> tensor<4xf32, #attn.axes<"D">> {
  // expected-error@+1 {{expected every axis once, but got}}
  %r = attn.map(%x) : (tensor<4x4xf32, #attn.axes<"D", "D">>) -> tensor<4xf32, #attn.axes<"D">> {
  ^bb0(%a: f32):
    attn.yield %a : f32
  }
  return %r : tensor<4xf32, #attn.axes<"D">>
}
