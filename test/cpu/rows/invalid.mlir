// RUN: attn-opt %s -verify-diagnostics

func.func @map_row(%x: memref<8xf32>, %out: memref<8xf32>) {
  // expected-error @below {{'attn.map_row' op expected a region that makes an element of the output of one of each input}}
  attn.map_row (%x, %x) into %out : (memref<8xf32>, memref<8xf32>), memref<8xf32> {
  ^bb0(%a: f32):
    attn.yield %a : f32
  }
  return
}
