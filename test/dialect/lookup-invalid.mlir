// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.lookup, attn.pick, attn.table and attn.rotary in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @lookup_c1(%table: tensor<9x4xf32, #attn.axes<"V", "D">>, %ids: tensor<5xf32, #attn.axes<"N">>) {
  // expected-error@+1 {{expected indices of i32 or i64, but got 'f32'}}
  %r = attn.lookup %table[%ids] : (tensor<9x4xf32, #attn.axes<"V", "D">>, tensor<5xf32, #attn.axes<"N">>) -> tensor<5x4xf32, #attn.axes<"N", "D">>
  return
}

// -----

func.func @lookup_c2(%table: tensor<9xf32, #attn.axes<"V">>, %ids: tensor<5xi32, #attn.axes<"N">>) {
  // expected-error@+1 {{expected a table of rows, of static size}}
  %r = attn.lookup %table[%ids] : (tensor<9xf32, #attn.axes<"V">>, tensor<5xi32, #attn.axes<"N">>) -> tensor<5xf32, #attn.axes<"N">>
  return
}

// -----

func.func @lookup_c3(%table: tensor<9x4xf32, #attn.axes<"V", "D">>, %ids: tensor<5xi32, #attn.axes<"N">>) {
  // expected-error@+1 {{expected a result of the indices' axes, then those of a row}}
  %r = attn.lookup %table[%ids] : (tensor<9x4xf32, #attn.axes<"V", "D">>, tensor<5xi32, #attn.axes<"N">>) -> tensor<4x5xf32, #attn.axes<"D", "N">>
  return
}

// -----

func.func @lookup_c4(%table: tensor<9x4xf32, #attn.axes<"V", "D">>, %ids: tensor<4xi32, #attn.axes<"D">>) {
  // expected-error@+1 {{expected every axis once}}
  %r = attn.lookup %table[%ids] : (tensor<9x4xf32, #attn.axes<"V", "D">>, tensor<4xi32, #attn.axes<"D">>) -> tensor<4x4xf32, #attn.axes<"D", "D">>
  return
}

// -----

func.func @table_c1() {
  // expected-error@+1 {{expected elements of 'f32'}}
  %r = attn.table dense<[0, 1, 2]> : tensor<3xi32> : tensor<3xf32, #attn.axes<"T">>
  return
}

// -----

func.func @table_c2() {
  // expected-error@+1 {{expected elements of the result's shape, but got 'tensor<3xf32>'}}
  %r = attn.table dense<1.0> : tensor<3xf32> : tensor<4xf32, #attn.axes<"T">>
  return
}

// -----

attn.dim @T dyn 5
func.func @table_c3() {
  // expected-error@+1 {{expected elements up to the bound of '2*T', 10}}
  %r = attn.table dense<1.0> : tensor<9xf32> : tensor<?xf32, #attn.axes<"2*T">>
  return
}

// -----

func.func @angles() {
  // expected-error@+1 {{expected finite frequencies and a tensor of f32, one row for each position, one column for each frequency}}
  %r = attn.table #attn.angles<cos, [1.0]> : tensor<1x2xf32> : tensor<1x1xf32, #attn.axes<"T", "P">>
  return
}

// -----

func.func @rotary_c1(%x: tensor<2x?xf32, #attn.axes<"T", "E">>, %cos: tensor<2x2xf32, #attn.axes<"T", "P">>) {
  // expected-error@+1 {{expected a last axis of a static size}}
  %r = attn.rotary %x by %cos, %cos : tensor<2x?xf32, #attn.axes<"T", "E">>, tensor<2x2xf32, #attn.axes<"T", "P">>
  return
}

// -----

func.func @rotary_c2(%x: tensor<2x6xf32, #attn.axes<"T", "E">>, %cos: tensor<2x4xf32, #attn.axes<"T", "P">>) {
  // expected-error@+1 {{expected angles for at most 3 pairs}}
  %r = attn.rotary %x by %cos, %cos : tensor<2x6xf32, #attn.axes<"T", "E">>, tensor<2x4xf32, #attn.axes<"T", "P">>
  return
}

// -----

func.func @rotary_c3(%x: tensor<2x6xf32, #attn.axes<"T", "E">>, %cos: tensor<2x3xf32, #attn.axes<"S", "P">>) {
  // expected-error@+1 {{expected angles along axes of the input}}
  %r = attn.rotary %x by %cos, %cos : tensor<2x6xf32, #attn.axes<"T", "E">>, tensor<2x3xf32, #attn.axes<"S", "P">>
  return
}

// -----

func.func @rotary_c4(%x: tensor<2x6xf16, #attn.axes<"T", "E">>, %cos: tensor<2x3xf16, #attn.axes<"T", "P">>) {
  // expected-error@+1 {{expected elements of f32}}
  %r = attn.rotary %x by %cos, %cos : tensor<2x6xf16, #attn.axes<"T", "E">>, tensor<2x3xf16, #attn.axes<"T", "P">>
  return
}

// -----

func.func @pick_c1(%x: tensor<5x4xf32, #attn.axes<"T", "D">>, %i: tensor<5xf32, #attn.axes<"N">>) {
  // expected-error@+1 {{expected indices of i32 or i64, but got 'f32'}}
  %r = attn.pick %x axis 0 at %i : (tensor<5x4xf32, #attn.axes<"T", "D">>, tensor<5xf32, #attn.axes<"N">>) -> tensor<5x4xf32, #attn.axes<"N", "D">>
  return
}

// -----

func.func @pick_c2(%x: tensor<5x4xf32, #attn.axes<"T", "D">>, %i: tensor<5xi32, #attn.axes<"N">>) {
  // expected-error@+1 {{expected an axis of}}
  %r = attn.pick %x axis 2 at %i : (tensor<5x4xf32, #attn.axes<"T", "D">>, tensor<5xi32, #attn.axes<"N">>) -> tensor<5x4xf32, #attn.axes<"N", "D">>
  return
}

// -----

func.func @pick_c3(%x: tensor<5x4xf32, #attn.axes<"T", "D">>, %i: tensor<3xi32, #attn.axes<"D">>) {
  // expected-error@+1 {{expected indices along axes of the input, but got "D"}}
  %r = attn.pick %x axis 0 at %i : (tensor<5x4xf32, #attn.axes<"T", "D">>, tensor<3xi32, #attn.axes<"D">>) -> tensor<4xf32, #attn.axes<"D">>
  return
}

// -----

func.func @pick_c4(%x: tensor<5x4xf32, #attn.axes<"T", "D">>, %i: tensor<3xi32, #attn.axes<"N">>) {
  // expected-error@+1 {{expected 'tensor<3x4xf32, #attn.axes<"N", "D">>', but got}}
  %r = attn.pick %x axis 0 at %i : (tensor<5x4xf32, #attn.axes<"T", "D">>, tensor<3xi32, #attn.axes<"N">>) -> tensor<4x3xf32, #attn.axes<"D", "N">>
  return
}
