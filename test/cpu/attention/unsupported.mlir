// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-tile=level=x86-64-v4

!m = memref<4x8xf32, strided<[8, 1]>>
!t = tensor<8xf32>

func.func @other_vectors(%q: !m, %k: !m, %v: !m, %thread: index, %threads: index, %o: !m, %s: memref<1x4096xf32, strided<[4096, 1]>>) {
  // expected-error@+1 {{a score with an inner product of other vectors is not supported yet}}
  attn.attention_kernel %q over %k, %v into %o scratch %s batch 0 : !m, !m, !m into !m, memref<1x4096xf32, strided<[4096, 1]>>
  score {
  ^bb0(%a: !t, %b: !t, %i: index, %j: index):
    %d = attn.dot %a, %a : !t, !t
    attn.yield %d : f32
  }
  return
}

// -----

!m = memref<4x8xf32, strided<[8, 1]>>
!t = tensor<8xf32>

func.func @two_products(%q: !m, %k: !m, %v: !m, %thread: index, %threads: index, %o: !m, %s: memref<1x4096xf32, strided<[4096, 1]>>) {
  // expected-error@+1 {{a score with several inner products is not supported yet}}
  attn.attention_kernel %q over %k, %v into %o scratch %s batch 0 : !m, !m, !m into !m, memref<1x4096xf32, strided<[4096, 1]>>
  score {
  ^bb0(%a: !t, %b: !t, %i: index, %j: index):
    %d = attn.dot %a, %b : !t, !t
    %e = attn.dot %b, %a : !t, !t
    %x = arith.mulf %d, %e : f32
    attn.yield %x : f32
  }
  return
}
