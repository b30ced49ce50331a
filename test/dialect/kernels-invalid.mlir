// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.slot, attn.barrier, attn.cost and of kernels on narrow rows in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @barrier_c1(%call: memref<4xi8>, %thread: index) {
  // expected-error@+1 {{expected a pointer: a memref of rank 0}}
  attn.barrier %call, %thread : memref<4xi8>
  return
}

// -----

func.func @barrier_c2(%call: memref<i8>, %thread: index) {
  // expected-error@+1 {{expected a cost, but @nothing is none}}
  attn.barrier %call, %thread after @nothing : memref<i8>
  return
}

// -----

// cost_c1
// expected-error@+1 {{expected terms of a factor and names of dims, but got ["B", 2]}}
attn.cost @k "linear" flop [["B", 2]] bytes []

// -----

// cost_c1_without_a_factor
// expected-error@+1 {{expected terms of a factor and names of dims, but got []}}
attn.cost @k "linear" flop [[2, "B"]] bytes [[]]

// -----

func.func @quantize_kernel_c1(%x: memref<4x20xf32>, %y: memref<4x20xi8>, %r: memref<4x2xf32>) {
  // expected-error@+1 {{expected static columns, as many of output in whole vectors, and a range}}
  attn.quantize_kernel %x into %y range %r : memref<4x20xf32>, memref<4x20xi8>, memref<4x2xf32>
  return
}

// -----

func.func @quantize_kernel_c2(%x: memref<4x20xf32>, %y: memref<5x32xi8>, %r: memref<4x2xf32>) {
  // expected-error@+1 {{expected as many rows of input, output and range}}
  attn.quantize_kernel %x into %y range %r : memref<4x20xf32>, memref<5x32xi8>, memref<4x2xf32>
  return
}

// -----

func.func @norm_bytes_kernel_c1(%x: memref<4x20xf32>, %g: memref<20xf32>, %s: memref<2x19xf32>, %y: memref<4x32xi8>, %r: memref<4x2xf32>) {
  // expected-error@+1 {{expected rows, and scratch with at least as many columns}}
  attn.norm_bytes_kernel %x weight %g bias %g scratch %s into %y range %r <layer, eps = 1.0e-5> : memref<4x20xf32> weight memref<20xf32> bias memref<20xf32> scratch memref<2x19xf32> into memref<4x32xi8>, memref<4x2xf32>
  return
}

// -----

func.func @norm_bytes_kernel_c2(%x: memref<4x20xf32>, %g: memref<20xf32>, %b: memref<21xf32>, %s: memref<2x20xf32>, %y: memref<4x32xi8>, %r: memref<4x2xf32>) {
  // expected-error@+1 {{expected weight and bias of 20 elements}}
  attn.norm_bytes_kernel %x weight %g bias %b scratch %s into %y range %r <layer, eps = 1.0e-5> : memref<4x20xf32> weight memref<20xf32> bias memref<21xf32> scratch memref<2x20xf32> into memref<4x32xi8>, memref<4x2xf32>
  return
}

// -----

func.func @norm_bytes_kernel_c3(%x: memref<4x20xf32>, %g: memref<20xf32>, %s: memref<2x20xf32>, %y: memref<5x32xi8>, %r: memref<4x2xf32>) {
  // expected-error@+1 {{expected as many rows of input, output and range}}
  attn.norm_bytes_kernel %x weight %g bias %g scratch %s into %y range %r <layer, eps = 1.0e-5> : memref<4x20xf32> weight memref<20xf32> bias memref<20xf32> scratch memref<2x20xf32> into memref<5x32xi8>, memref<4x2xf32>
  return
}

// -----

func.func @round_kernel_c1(%x: memref<4x20xf32>, %y: memref<4x20xi16>) {
  // expected-error@+1 {{expected static columns, padded to a multiple of 32}}
  attn.round_kernel %x into %y : memref<4x20xf32>, memref<4x20xi16>
  return
}

// -----

func.func @round_kernel_c2(%x: memref<4x20xf32>, %y: memref<5x32xi16>) {
  // expected-error@+1 {{expected as many rows of input and output}}
  attn.round_kernel %x into %y : memref<4x20xf32>, memref<5x32xi16>
  return
}

// -----

func.func @linear_kernel_c9(%x: memref<4x64xi8>, %w: memref<3072xi8>, %y: memref<4x8xf32>) {
  // expected-error@+1 {{expected rows of int8 and their quantization exactly for panels of int8}}
  attn.linear_kernel %x, %w into %y contract 1 in int8 : memref<4x64xi8>, memref<3072xi8> into memref<4x8xf32>
  return
}

// -----

func.func @linear_kernel_c9_of_rows(%x: memref<4x64xi8>, %w: memref<3072xi8>, %r: memref<3x2xf32>, %s: memref<48xf32>, %n: memref<48xi32>, %y: memref<4x8xf32>) {
  // expected-error@+1 {{expected scale and zero of each row, scale and sum of each column}}
  attn.linear_kernel %x, %w quantized(%r, %s, %n) into %y contract 1 in int8 : memref<4x64xi8>, memref<3072xi8> quantized(memref<3x2xf32>, memref<48xf32>, memref<48xi32>) into memref<4x8xf32>
  return
}

// -----

func.func @linear_kernel_c10(%x: memref<4x64xf32>, %w: memref<3072xf32>, %r: memref<4x64xi16>, %y: memref<4x8xf32>) {
  // expected-error@+1 {{expected rounded rows for panels of bf16}}
  attn.linear_kernel %x, %w rounded %r into %y contract 1 : memref<4x64xf32>, memref<3072xf32> rounded memref<4x64xi16> into memref<4x8xf32>
  return
}

// -----

func.func @linear_kernel_c11(%x: memref<4x64xf32>, %w: memref<3072xf32>, %r: memref<4x3072xf32>, %y: memref<4x8xf32>) {
  // expected-error@+1 {{expected scratch for panels that are not f32}}
  attn.linear_kernel %x, %w scratch %r into %y contract 1 : memref<4x64xf32>, memref<3072xf32> scratch memref<4x3072xf32> into memref<4x8xf32>
  return
}

// -----

func.func @linear_kernel_c12(%x: memref<4x64xi16>, %w: memref<3072xf32>, %y: memref<4x8xf32>) {
  // expected-error@+1 {{expected rows in bf16 for panels of bf16, and these alone}}
  attn.linear_kernel %x, %w into %y contract 1 : memref<4x64xi16>, memref<3072xf32> into memref<4x8xf32>
  return
}

// -----

func.func @linear_kernel_c13(%x: memref<4x64xf32>, %w: memref<3072xf32>, %y: memref<4x8xf32>) {
  // expected-error@+1 {{expected panels of 'i16' in bf16, but got 'memref<3072xf32>'}}
  attn.linear_kernel %x, %w into %y contract 1 in bf16 : memref<4x64xf32>, memref<3072xf32> into memref<4x8xf32>
  return
}

// -----

// Scales of int8 are f32.
func.func @linear_kernel_c9_of_scales(%x: memref<4x64xi8>, %w: memref<3072xi8>, %r: memref<4x2xf32>, %s: memref<96xf16>, %n: memref<48xf32>, %y: memref<4x8xf32>) {
  // expected-error@+1 {{expected scale and zero of each row, scale and sum of each column}}
  attn.linear_kernel %x, %w quantized(%r, %s, %n) into %y contract 1 in int8 : memref<4x64xi8>, memref<3072xi8> quantized(memref<4x2xf32>, memref<96xf16>, memref<48xf32>) into memref<4x8xf32>
  return
}

// -----

// expected-error@+1 {{expected sizes of at least 1, and offsets that are not negative}}
attn.slot @slot_c1 [@a] k 0 columns 8 width 48 bytes 64 layers 1 at 0 + 0

// -----

// expected-error@+1 {{expected the symbols of its parameters, or angles}}
attn.slot @slot_c2 [] k 8 columns 8 width 48 bytes 64 layers 1 at 0 + 0

// -----

// expected-error@+1 {{expected a precision that weights are stored in, but tf32 is stored as f32}}
attn.slot @slot_c3 [@a] k 8 columns 8 width 48 in tf32 bytes 64 layers 1 at 0 + 0

// -----

// expected-error@+1 {{expected rows of f32, bf16 or f16, but got int8}}
attn.slot @slot_c4 [@a] k 1 columns 8 width 0 in int8 bytes 64 layers 1 at 0 + 0

// -----

// expected-error@+1 {{expected angles as rows of f32, one for each position}}
attn.slot @slot_c5 [] of #attn.angles<cos, [1.0, 0.5]> : tensor<9x2xf32> k 9 columns 3 width 0 bytes 108 layers 1 at 0 + 0

// -----

func.func @scan_kernel_c1(%x: memref<2x5x1x8xf32>, %s: memref<2x1x8xf32>, %r: memref<1x64xf32>) {
  // expected-error@+1 {{expected an input at least, a state, and as many states at the end}}
  "attn.scan_kernel"(%x, %s, %r) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 1>}> ({
  ^bb0(%a: f32, %h: f32):
    attn.step %a
  }) : (memref<2x5x1x8xf32>, memref<2x1x8xf32>, memref<1x64xf32>) -> ()
  return
}

// -----

func.func @scan_kernel_c2(%x: memref<3x5x1x8xf32>, %s: memref<2x1x8xf32>, %r: memref<1x64xf32>) {
  // expected-error@+1 {{expected rows and columns of the first state, but got 'memref<3x5x1x8xf32>'}}
  "attn.scan_kernel"(%x, %s, %s, %r) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>}> ({
  ^bb0(%a: f32, %h: f32):
    attn.step %a
  }) : (memref<3x5x1x8xf32>, memref<2x1x8xf32>, memref<2x1x8xf32>, memref<1x64xf32>) -> ()
  return
}

// -----

func.func @scan_kernel_c3(%x: memref<2x5x1x8xf32>, %s: memref<2x1x8xf32>, %r: memref<1x64xf32>) {
  // expected-error@+1 {{expected a body (elements of the inputs and states...) -> elements of the outputs and states}}
  "attn.scan_kernel"(%x, %s, %s, %r) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>}> ({
  ^bb0(%a: f32, %h: f32):
    attn.step %a, %h
  }) : (memref<2x5x1x8xf32>, memref<2x1x8xf32>, memref<2x1x8xf32>, memref<1x64xf32>) -> ()
  return
}
