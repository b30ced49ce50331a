// RUN: attn-opt %s -split-input-file -verify-diagnostics

!m = memref<4x8xf32, strided<[8, 1]>>
!t = tensor<8xf32>

func.func @attention_kernel_c7(%q: !m, %k: !m, %v: !m, %o: !m, %s: memref<1x4096xf32>, %p: memref<1x512xf32>) {
  // expected-error@+1 {{expected partials [heads, parts, floats]}}
  attn.attention_kernel %q over %k, %v into %o scratch %s partials %p batch 0 : !m, !m, !m into !m, memref<1x4096xf32> partials memref<1x512xf32>
  score {
  ^bb0(%a: !t, %b: !t, %i: index, %j: index):
    %d = attn.dot %a, %b : !t, !t
    attn.yield %d : f32
  }
  return
}

// -----

func.func @combine_kernel_c1(%p: memref<1x512xf32>, %o: memref<4x8xf32>) {
  // expected-error@+1 {{expected partials [heads, parts, floats]}}
  attn.combine_kernel %p into %o : memref<1x512xf32>, memref<4x8xf32>
  return
}

// -----

func.func @combine_kernel_c2(%p: memref<1x2x512xf32>, %o: memref<?x8xf32>) {
  // expected-error@+1 {{expected an output [batch..., queries, features] of static rows}}
  attn.combine_kernel %p into %o : memref<1x2x512xf32>, memref<?x8xf32>
  return
}
