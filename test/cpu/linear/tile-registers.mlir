// RUN: attn-opt %s -attn-tile=level=amx | attn-opt | FileCheck %s --check-prefix=TILED
// RUN: attn-opt %s -attn-tile=level=amx -attn-vectorize=level=amx -canonicalize -cse | FileCheck %s --check-prefix=KERNELS

// 300 rows are two groups of five blocks; a block's rows are finished by 3 with each of the 14 steps of the next one, which fetches a cache line from each of ten places of the next panel.
// TILED-LABEL: func.func private @rows.linear_kernel
// TILED: %[[SUMS:.*]] = memref.collapse_shape
// TILED: %[[PENDING:.*]] = memref.alloca() : memref<4xindex>
// TILED: memref.store %c0{{.*}}, %[[PENDING]][%c0
// TILED: scf.for %[[GROUP:.*]] = %c0{{.*}} to %c2
// TILED: scf.for %[[PART:.*]] = %c0{{.*}} to %c1_
// TILED: scf.for %[[PANEL:.*]] =
// TILED: scf.for %[[BLOCK:.*]] =
// TILED: attn.linear_amx_tile {{.*}} by %[[SUMS]], %[[PENDING]] at {{.*}} of 2 steps {{.*}} pace 3 ahead {{.*}} fetched %c1_{{.*}} x 10 apart 2176
// TILED: else
// TILED: attn.linear_amx_tile {{.*}} of 1 steps
// TILED: attn.linear_amx_finish {{.*}} by %[[SUMS]], %[[PENDING]]

// Sums begin with zeros and go to the scratch; in between, rows are finished and products computed in one loop, each with its share of the ten lines.
// KERNELS-LABEL: func.func private @rows.linear_kernel
// KERNELS: scf.if
// KERNELS-COUNT-6: llvm.x86.tilezero
// KERNELS: scf.for
// KERNELS-NOT: memref.prefetch
// KERNELS: llvm.inline_asm has_side_effects "vmulps
// KERNELS: scf.for
// KERNELS: vector.load
// KERNELS: vector.store
// KERNELS: llvm.x86.tileloaddt164
// KERNELS: memref.prefetch
// KERNELS-NEXT: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// KERNELS-COUNT-2: memref.prefetch
// KERNELS-NEXT: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// KERNELS-COUNT-2: memref.prefetch
// KERNELS-NEXT: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// KERNELS-NOT: scf.for
// KERNELS: llvm.x86.tileloaddt164
// KERNELS: memref.prefetch
// KERNELS-NEXT: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// KERNELS-COUNT-2: memref.prefetch
// KERNELS-NEXT: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// KERNELS-COUNT-2: memref.prefetch
// KERNELS-NEXT: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// KERNELS-NOT: memref.prefetch
// KERNELS-COUNT-6: llvm.x86.tilestored64
// KERNELS: memref.store %{{.*}}, %{{.*}}[%c0] : memref<4xindex>
func.func @rows(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                %x: memref<f32>, %r: memref<i16>, %w: memref<i16>, %y: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [300, 448], strides: [448, 1] : memref<f32> to memref<300x448xf32, strided<[448, 1]>>
  %rounded = memref.reinterpret_cast %r to offset: [0], sizes: [300, 448], strides: [480, 1] : memref<i16> to memref<300x448xi16, strided<[480, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [43008], strides: [1] : memref<i16> to memref<43008xi16, strided<[1]>>
  %scratch = memref.reinterpret_cast %x to offset: [0], sizes: [%threads, 12288], strides: [12288, 1] : memref<f32> to memref<?x12288xf32, strided<[12288, 1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [300, 96], strides: [96, 1] : memref<f32> to memref<300x96xf32, strided<[96, 1]>>
  attn.linear_kernel %in, %panels rounded %rounded scratch %scratch into %out contract 1 in bf16
    : memref<300x448xf32, strided<[448, 1]>>, memref<43008xi16, strided<[1]>> rounded memref<300x448xi16, strided<[480, 1]>>
      scratch memref<?x12288xf32, strided<[12288, 1]>> into memref<300x96xf32, strided<[96, 1]>>
  return
}

// Of 1600 elements of k, 25 steps come first, then all panels' other 25; sums of all blocks and panels are behind those of threads meanwhile.
// TILED-LABEL: func.func private @parts.linear_kernel
// TILED: scf.for %[[PART:.*]] = %c0{{.*}} to %c2
// TILED: scf.for %[[PANEL:.*]] =
// TILED: %[[BLOCKS:.*]] = arith.muli %[[PANEL]], %c8
// TILED: arith.addi %[[BLOCKS]], %{{.*}} : index
// TILED: attn.linear_amx_tile {{.*}} pace 2 ahead
// KERNELS-LABEL: func.func private @parts.linear_kernel
// KERNELS: scf.if
// KERNELS-COUNT-6: llvm.x86.tilezero
// KERNELS: else
// KERNELS-COUNT-6: llvm.x86.tileloadd64
// KERNELS: scf.for
// KERNELS-COUNT-6: llvm.x86.tilestored64
func.func @parts(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                 %r: memref<i16>, %s: memref<f32>, %w: memref<i16>, %y: memref<f32>) {
  %rounded = memref.reinterpret_cast %r to offset: [0], sizes: [60, 1600], strides: [1632, 1] : memref<i16> to memref<60x1600xi16, strided<[1632, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [76800], strides: [1] : memref<i16> to memref<76800xi16, strided<[1]>>
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 12288], strides: [12288, 1] : memref<f32> to memref<?x12288xf32, strided<[12288, 1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [60, 48], strides: [48, 1] : memref<f32> to memref<60x48xf32, strided<[48, 1]>>
  attn.linear_kernel %rounded, %panels scratch %scratch into %out contract 1 in bf16
    : memref<60x1600xi16, strided<[1632, 1]>>, memref<76800xi16, strided<[1]>>
      scratch memref<?x12288xf32, strided<[12288, 1]>> into memref<60x48xf32, strided<[48, 1]>>
  return
}

// Any number of rows: from seven blocks on, seven lines of each step's 48 come with a block; from four on, twelve; with fewer as many as it takes, behind the products.
// Rows of a long function are finished before the first 16 rows' products and before the others.
// TILED-LABEL: func.func private @any.linear_kernel
// TILED: arith.cmpi uge, %{{.*}}, %c7
// TILED: attn.linear_amx_tile {{.*}} of 2 steps {{.*}} fetched %c1{{[_0-9]*}} x 7 apart 3072
// TILED: else
// TILED: arith.cmpi uge, %{{.*}}, %c4
// TILED: attn.linear_amx_tile {{.*}} of 2 steps {{.*}} fetched %c1{{[_0-9]*}} x 12 apart 1792
// TILED: %[[LINES:.*]] = arith.divui
// TILED: attn.linear_amx_tile {{.*}} of 2 steps {{.*}} fetched %[[LINES]] x 12 apart 1792
// KERNELS-LABEL: func.func private @any.linear_kernel
// KERNELS: llvm.inline_asm has_side_effects "vmulps
// KERNELS: scf.for
// KERNELS: math.erf
// KERNELS: llvm.x86.tileloaddt164
// KERNELS-COUNT-3: llvm.x86.tdpbf16ps
// KERNELS: scf.for
// KERNELS: math.erf
// KERNELS: llvm.x86.tileloaddt164
// KERNELS-COUNT-3: llvm.x86.tdpbf16ps
// KERNELS: scf.for %{{.*}} = %c1 to %{{.*}} step %c1 {
// KERNELS-COUNT-12: memref.prefetch
// KERNELS-NEXT: }
func.func @any(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %n: index,
               %r: memref<i16>, %s: memref<f32>, %w: memref<i16>, %y: memref<f32>) {
  %rounded = memref.reinterpret_cast %r to offset: [0], sizes: [%n, 448], strides: [480, 1] : memref<i16> to memref<?x448xi16, strided<[480, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [43008], strides: [1] : memref<i16> to memref<43008xi16, strided<[1]>>
  %scratch = memref.reinterpret_cast %s to offset: [0], sizes: [%threads, 12288], strides: [12288, 1] : memref<f32> to memref<?x12288xf32, strided<[12288, 1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 96], strides: [96, 1] : memref<f32> to memref<?x96xf32, strided<[96, 1]>>
  attn.linear_kernel %rounded, %panels scratch %scratch into %out contract 1 in bf16
    : memref<?x448xi16, strided<[480, 1]>>, memref<43008xi16, strided<[1]>>
      scratch memref<?x12288xf32, strided<[12288, 1]>> into memref<?x96xf32, strided<[96, 1]>> {
  ^bb0(%sum: f32):
    %e = math.erf %sum : f32
    attn.yield %e : f32
  }
  return
}
