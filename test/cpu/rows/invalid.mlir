// RUN: attn-opt %s -verify-diagnostics

func.func @map_row(%x: memref<8xf32>, %out: memref<8xf32>) {
  // expected-error @below {{'attn.map_row' op expected a region that makes one f32 of as many as there are inputs}}
  attn.map_row (%x, %x) into %out : (memref<8xf32>, memref<8xf32>), memref<8xf32> {
  ^bb0(%a: f32):
    attn.yield %a : f32
  }
  return
}
