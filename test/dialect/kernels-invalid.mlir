// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.barrier and attn.cost in dialect/README.md.
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
