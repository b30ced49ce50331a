// RUN: attn-opt %s -attn-check-memory -split-input-file -verify-diagnostics

!pointer = memref<f32>
!rows = memref<8x16xf32, strided<[16, 1]>>
!turned = memref<8x16xf32, strided<[1, 8]>>

// Each element is read where it is written.
func.func @same_place(%p: !pointer) {
  %a = memref.reinterpret_cast %p to offset: [0], sizes: [8, 16], strides: [16, 1] : !pointer to !rows
  attn.map_kernel(%a) into %a : (!rows), !rows {
  ^bb0(%x: f32):
    attn.yield %x : f32
  }
  return
}

// -----

!pointer = memref<f32>
!rows = memref<8x16xf32, strided<[16, 1]>>
!turned = memref<8x16xf32, strided<[1, 8]>>

func.func @transposed(%p: !pointer) {
  %a = memref.reinterpret_cast %p to offset: [0], sizes: [8, 16], strides: [1, 8] : !pointer to !turned
  %b = memref.reinterpret_cast %p to offset: [0], sizes: [8, 16], strides: [16, 1] : !pointer to !rows
  // expected-error@+1 {{memory stage: operand 1 is written where operand 0 is read}}
  attn.map_kernel(%a) into %b : (!turned), !rows {
  ^bb0(%x: f32):
    attn.yield %x : f32
  }
  return
}

// -----

!pointer = memref<f32>
!rows = memref<8x16xf32, strided<[16, 1]>>

// A norm reads a whole row for each of its elements.
func.func @norm_in_place(%p: !pointer, %g: memref<16xf32>) {
  %a = memref.reinterpret_cast %p to offset: [0], sizes: [8, 16], strides: [16, 1] : !pointer to !rows
  // expected-error@+1 {{memory stage: operand 3 is written where operand 0 is read}}
  attn.norm_kernel %a weight %g bias %g into %a <layer, eps = 1.0e-5> : !rows weight memref<16xf32> bias memref<16xf32> into !rows
  return
}

// -----

!pointer = memref<f32>
!part = memref<?x8x16xf32, strided<[?, 16, 1], offset: ?>>
!first = memref<?x8x16xf32, strided<[?, 16, 1]>>

// The parts of a concat [B, 8 + T, 16], of which one is read and the other written.
func.func @parts_of_rows_known_when_running(%p: !pointer, %B: index, %T: index) {
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %rest = arith.muli %T, %c16 : index
  %row = arith.addi %rest, %c128 : index
  %a = memref.reinterpret_cast %p to offset: [0], sizes: [%B, 8, 16], strides: [%row, 16, 1] : !pointer to !first
  %b = memref.reinterpret_cast %p to offset: [%c128], sizes: [%B, 8, 16], strides: [%row, 16, 1] : !pointer to !part
  %c = memref.reinterpret_cast %p to offset: [%c128], sizes: [%B, %T, 16], strides: [%row, 16, 1] : !pointer to memref<?x?x16xf32, strided<[?, 16, 1], offset: ?>>
  attn.map_kernel(%c) into %a : (memref<?x?x16xf32, strided<[?, 16, 1], offset: ?>>), !first {
  ^bb0(%x: f32):
    attn.yield %x : f32
  }
  // Eight rows from the eighth on reach into the next batch, if T is less.
  // expected-error@+1 {{memory stage: operand 1 is written where operand 0 is read}}
  attn.map_kernel(%b) into %a : (!part), !first {
  ^bb0(%x: f32):
    attn.yield %x : f32
  }
  return
}

// -----

!pointer = memref<f32>

// Columns beside each other, and one that both have.
func.func @columns(%p: !pointer, %g: memref<16xf32>) {
  %a = memref.reinterpret_cast %p to offset: [0], sizes: [8, 16], strides: [32, 1] : !pointer to memref<8x16xf32, strided<[32, 1]>>
  %b = memref.reinterpret_cast %p to offset: [16], sizes: [8, 16], strides: [32, 1] : !pointer to memref<8x16xf32, strided<[32, 1], offset: 16>>
  %c = memref.reinterpret_cast %p to offset: [15], sizes: [8, 16], strides: [32, 1] : !pointer to memref<8x16xf32, strided<[32, 1], offset: 15>>
  attn.norm_kernel %b weight %g bias %g into %a <layer, eps = 1.0e-5> : memref<8x16xf32, strided<[32, 1], offset: 16>> weight memref<16xf32> bias memref<16xf32> into memref<8x16xf32, strided<[32, 1]>>
  // expected-error@+1 {{memory stage: operand 1 is written where operand 0 is read}}
  attn.map_kernel(%c) into %a : (memref<8x16xf32, strided<[32, 1], offset: 15>>), memref<8x16xf32, strided<[32, 1]>> {
  ^bb0(%x: f32):
    attn.yield %x : f32
  }
  return
}

// -----

!rows = memref<8x16xf32, strided<[16, 1]>>

// Two places of the workspace are different memory, one place is the same whatever lies there.
func.func @workspace(%w: memref<i8>, %g: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %bytes = memref.reinterpret_cast %w to offset: [0], sizes: [4096], strides: [1] : memref<i8> to memref<4096xi8>
  %p = memref.view %bytes[%c0][] : memref<4096xi8> to memref<f32>
  %q = memref.view %bytes[%c512][] : memref<4096xi8> to memref<f32>
  %again = memref.view %bytes[%c0][] : memref<4096xi8> to memref<f32>
  %a = memref.reinterpret_cast %p to offset: [0], sizes: [8, 16], strides: [16, 1] : memref<f32> to !rows
  %b = memref.reinterpret_cast %q to offset: [0], sizes: [8, 16], strides: [16, 1] : memref<f32> to !rows
  %c = memref.reinterpret_cast %again to offset: [0], sizes: [8, 16], strides: [16, 1] : memref<f32> to !rows
  attn.norm_kernel %a weight %g bias %g into %b <layer, eps = 1.0e-5> : !rows weight memref<16xf32> bias memref<16xf32> into !rows
  // expected-error@+1 {{memory stage: operand 3 is written where operand 0 is read}}
  attn.norm_kernel %a weight %g bias %g into %c <layer, eps = 1.0e-5> : !rows weight memref<16xf32> bias memref<16xf32> into !rows
  return
}
