// A kernel whose memory was planned for another one does not write beyond its scratch.

// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-tile=level=x86-64-v4

!m = memref<20x8xf32, strided<[8, 1]>>
!s = memref<1x512xf32, strided<[512, 1]>>
!t = tensor<8xf32>

func.func @many_queries(%q: !m, %k: !m, %v: !m, %thread: index, %threads: index, %o: !m, %s: !s) {
  // expected-error-re@+1 {{expected at least {{[0-9]+}} floats of scratch, but got 512}}
  attn.attention_kernel %q over %k, %v into %o scratch %s batch 0 : !m, !m, !m into !m, !s
  score {
  ^bb0(%a: !t, %b: !t, %i: index, %j: index):
    %d = attn.dot %a, %b : !t, !t
    attn.yield %d : f32
  }
  return
}

// -----

!m = memref<4x8xf32, strided<[8, 1]>>
!s = memref<1x512xf32, strided<[512, 1]>>
!t = tensor<8xf32>

func.func @few_queries(%q: !m, %k: !m, %v: !m, %thread: index, %threads: index, %o: !m, %s: !s) {
  // expected-error@+1 {{expected at least 704 floats of scratch, but got 512}}
  attn.attention_kernel %q over %k, %v into %o scratch %s batch 0 : !m, !m, !m into !m, !s
  score {
  ^bb0(%a: !t, %b: !t, %i: index, %j: index):
    %d = attn.dot %a, %b : !t, !t
    attn.yield %d : f32
  }
  return
}
