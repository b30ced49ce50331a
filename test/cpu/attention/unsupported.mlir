// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-tile=level=x86-64-v4

!m = memref<4x8xf32, strided<[8, 1]>>
!t = tensor<8xf32>
!row = tensor<4xf32>

func.func @other_vectors(%q: !m, %k: !m, %v: !m, %thread: index, %threads: index, %o: !m, %s: memref<1x4096xf32, strided<[4096, 1]>>) {
  // expected-error@+1 {{a score with an inner product of other vectors is not supported yet: expected a function of one dot(query, key)}}
  attn.attention_kernel %q over %k, %v into %o scratch %s batch 0 : !m, !m, !m, !m, memref<1x4096xf32, strided<[4096, 1]>>
  score {
  ^bb0(%a: !t, %b: !t):
    %d = attn.dot %a, %a : !t, !t
    attn.yield %d : f32
  } normaliser {
  ^bb0(%r: !row):
    %n = attn.softmax %r : !row
    attn.yield %n : !row
  }
  return
}

// -----

!m = memref<4x8xf32, strided<[8, 1]>>
!t = tensor<8xf32>
!row = tensor<4xf32>

func.func @no_softmax(%q: !m, %k: !m, %v: !m, %thread: index, %threads: index, %o: !m, %s: memref<1x4096xf32, strided<[4096, 1]>>) {
  // expected-error@+1 {{this normaliser of an attention is not supported yet: expected softmax}}
  attn.attention_kernel %q over %k, %v into %o scratch %s batch 0 : !m, !m, !m, !m, memref<1x4096xf32, strided<[4096, 1]>>
  score {
  ^bb0(%a: !t, %b: !t):
    %d = attn.dot %a, %b : !t, !t
    attn.yield %d : f32
  } normaliser {
  ^bb0(%r: !row):
    attn.yield %r : !row
  }
  return
}
