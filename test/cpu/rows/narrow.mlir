// Rows as bytes and in bf16.
// RUN: attn-opt %s -attn-tile=level=amx | attn-opt | FileCheck %s --check-prefix=TILED
// RUN: attn-opt %s -attn-tile=level=x86-64-v4 -attn-vectorize=level=x86-64-v4 -attn-expand-math=level=x86-64-v4 -canonicalize -cse \
// RUN:   -attn-check-kernels | FileCheck %s --check-prefix=V4
// RUN: attn-opt %s -attn-tile=level=amx -attn-vectorize=level=amx -attn-expand-math=level=amx -canonicalize -cse \
// RUN:   -attn-check-kernels | FileCheck %s --check-prefix=AMX

// The least and the greatest element first, then bytes; a vector that ends within the row is stored whole into the padding.
// TILED-LABEL: func.func private @quantize.quantize_kernel
// TILED: attn.quantize_row %{{.*}} into %{{.*}} range %{{.*}} : memref<20xf32
// V4-LABEL: func.func private @quantize.quantize_kernel
// V4: memref.store
// V4: memref.store
// V4: vector.store {{.*}} vector<16xi8>
// V4: vector.maskedload
// V4: vector.store {{.*}} vector<16xi8>
// V4-NOT: maskedstore
// V4-LABEL: func.func @quantize
func.func @quantize(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %n: index,
                    %x: memref<f32>, %y: memref<i8>, %r: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 20], strides: [20, 1] : memref<f32> to memref<?x20xf32, strided<[20, 1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<i8> to memref<?x64xi8, strided<[64, 1]>>
  %range = memref.reinterpret_cast %r to offset: [0], sizes: [%n, 2], strides: [2, 1] : memref<f32> to memref<?x2xf32, strided<[2, 1]>>
  attn.quantize_kernel %in into %out range %range : memref<?x20xf32, strided<[20, 1]>>, memref<?x64xi8, strided<[64, 1]>>, memref<?x2xf32, strided<[2, 1]>>
  return
}

// The bits of bf16 are compared as integers, 32 at a time, and bytes made of 32 of them together.
// AMX-LABEL: func.func private @quantize_halves.quantize_kernel
// AMX: vector.maskedload {{.*}} into vector<32xi16>
// AMX: arith.minsi %{{.*}} : vector<32xi16>
// AMX: arith.maxsi %{{.*}} : vector<32xi16>
// AMX: memref.prefetch
// AMX: arith.trunci %{{.*}} : vector<32xi16> to vector<32xi8>
// AMX: vector.store {{.*}} vector<32xi8>
// AMX-LABEL: func.func @quantize_halves
func.func @quantize_halves(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %n: index,
                           %x: memref<i16>, %y: memref<i8>, %r: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 20], strides: [32, 1] : memref<i16> to memref<?x20xi16, strided<[32, 1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<i8> to memref<?x64xi8, strided<[64, 1]>>
  %range = memref.reinterpret_cast %r to offset: [0], sizes: [%n, 2], strides: [2, 1] : memref<f32> to memref<?x2xf32, strided<[2, 1]>>
  attn.quantize_kernel %in into %out range %range : memref<?x20xi16, strided<[32, 1]>>, memref<?x64xi8, strided<[64, 1]>>, memref<?x2xf32, strided<[2, 1]>>
  return
}

// Bytes of a normed row are made as soon as it is there, in the thread's own memory: nothing lies behind it.
// TILED-LABEL: func.func private @norm_bytes.norm_bytes_kernel(
// TILED: %[[NORMED:.*]] = memref.subview %{{.*}}[%{{.*}}, 0] [1, 20] [1, 1] : memref<?x32xi16
// TILED: scf.for
// TILED: attn.norm_row %{{.*}} into %[[NORMED]] <layer, eps
// TILED: attn.quantize_row %[[NORMED]] into %{{.*}} range %{{.*}} alone :
// AMX-LABEL: func.func private @norm_bytes.norm_bytes_kernel(
// AMX: vector.maskedload {{.*}} vector<16xf32>
// AMX: memref.prefetch
// AMX: math.sqrt
// AMX-NOT: memref.prefetch
// AMX: vector.store {{.*}} vector<32xi8>
// AMX-LABEL: func.func @norm_bytes(
func.func @norm_bytes(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %n: index,
                      %x: memref<f32>, %g: memref<20xf32>, %s: memref<i16>, %y: memref<i8>, %r: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 20], strides: [20, 1] : memref<f32> to memref<?x20xf32, strided<[20, 1]>>
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 32], strides: [32, 1] : memref<i16> to memref<?x32xi16, strided<[32, 1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<i8> to memref<?x64xi8, strided<[64, 1]>>
  %range = memref.reinterpret_cast %r to offset: [0], sizes: [%n, 2], strides: [2, 1] : memref<f32> to memref<?x2xf32, strided<[2, 1]>>
  attn.norm_bytes_kernel %in weight %g bias %g scratch %scratch into %out range %range <layer, eps = 1.0e-5>
    : memref<?x20xf32, strided<[20, 1]>> weight memref<20xf32> bias memref<20xf32> scratch memref<?x32xi16, strided<[32, 1]>> into memref<?x64xi8, strided<[64, 1]>>, memref<?x2xf32, strided<[2, 1]>>
  return
}

// Machines that multiply f32 have no use for rounded rows. The padding is zeros: NaN would survive a product with them.
// V4-LABEL: func.func private @round.round_kernel
// V4-NEXT: return
// AMX-LABEL: func.func private @round.round_kernel
// AMX: vector.maskedload {{.*}}[%c32]
// AMX: vector.store {{.*}}[%c32]
// AMX: vector.store {{.*}}[%c48]{{.*}} vector<16xi16>
// AMX-LABEL: func.func @round
func.func @round(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %n: index,
                 %x: memref<f32>, %y: memref<i16>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 33], strides: [33, 1] : memref<f32> to memref<?x33xf32, strided<[33, 1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<i16> to memref<?x64xi16, strided<[64, 1]>>
  attn.round_kernel %in into %out : memref<?x33xf32, strided<[33, 1]>>, memref<?x64xi16, strided<[64, 1]>>
  return
}
