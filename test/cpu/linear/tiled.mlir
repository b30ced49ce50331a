// RUN: attn-opt %s -attn-tile=level=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,V4
// RUN: attn-opt %s -attn-tile=level=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,V3
// RUN: attn-opt %s -attn-tile=level=x86-64-v4 | attn-opt | attn-opt -attn-check-tiled | FileCheck %s --check-prefixes=CHECK,V4

// 197 rows are 25 blocks of 7 or 8 rows with AVX-512, 50 blocks of 3 or 4, in panels of 24 columns, with AVX2: code for two sizes.
// CHECK-LABEL: func.func private @rows.linear_kernel
// CHECK: scf.for %[[PANEL:.*]] = %{{.*}} to
// CHECK: scf.for %[[BLOCK:.*]] = %{{.*}} to
// CHECK: scf.if
// V4: attn.linear_tile {{.*}} size 8 x 48 x 64 contract 1 ahead %{{.*}} pace 2
// V4: else
// V4: attn.linear_tile {{.*}} size 7 x 48 x 64 contract 1
// V4-NOT: attn.linear_tile
// V3-NOT: scf.for
// V3: attn.linear_tile {{.*}} size 4 x 24 x 64 contract 1
// V3: else
// V3: attn.linear_tile {{.*}} size 3 x 24 x 64 contract 1
// V3-NOT: attn.linear_tile
// CHECK-LABEL: func.func @rows
func.func @rows(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                %x: memref<f32>, %w: memref<f32>, %y: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [197, 64], strides: [64, 1] : memref<f32> to memref<197x64xf32, strided<[64, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [6144], strides: [1] : memref<f32> to memref<6144xf32, strided<[1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [197, 96], strides: [96, 1] : memref<f32> to memref<197x96xf32, strided<[96, 1]>>
  attn.linear_kernel %in, %panels into %out contract 1
    : memref<197x64xf32, strided<[64, 1]>>, memref<6144xf32, strided<[1]>> into memref<197x96xf32, strided<[96, 1]>>
  return
}

// Where the matrix stays in the second-level cache and each thread has 64 rows, threads divide these, in blocks of 7 and 8 rows as many for each;
// else they divide the panels.
// V4-LABEL: func.func private @many.linear_kernel
// V4-SAME: %[[FROM:[a-z0-9]+]]: index, %[[TO:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %[[THREADS:[a-z0-9]+]]: index)
// V4: %[[PIECES:.*]] = arith.muli %[[THREADS]], %c8
// V4: %[[EACH:.*]] = arith.divui %{{.*}}, %[[THREADS]]
// V4: %[[EVEN:.*]] = arith.muli %[[EACH]], %[[THREADS]]
// V4: %[[FIT:.*]] = arith.cmpi ule
// V4: %[[LEAST:.*]] = arith.muli %[[THREADS]], %c64
// V4: %[[MANY:.*]] = arith.cmpi uge, %{{.*}}, %[[LEAST]]
// V4: %[[DIVIDES:.*]] = arith.andi %[[FIT]], %[[MANY]]
// V4: %[[BLOCKS:.*]] = arith.select %[[DIVIDES]], %[[EVEN]]
// V4: %[[BEFORE:.*]] = arith.muli %[[BLOCKS]], %[[FROM]]
// V4: %[[OWN:.*]] = arith.divui %[[BEFORE]], %[[PIECES]]
// V4: %[[FIRST:.*]] = arith.select %[[DIVIDES]], %[[OWN]], %c0
// V4: arith.select %[[DIVIDES]], %c0{{.*}}, %[[FROM]]
// V4: arith.select %[[DIVIDES]], %c1{{.*}}, %[[TO]]
// V4: arith.select %[[DIVIDES]], %c1{{.*}}, %[[PIECES]]
// V4: scf.for %{{.*}} = %c0
// V4: arith.addi %[[FIRST]]
// V4: attn.linear_tile {{.*}} size 8 x 48 x 64
// V4: attn.linear_tile {{.*}} size 7 x 48 x 64
// V4-NOT: attn.linear_tile
// CHECK-LABEL: func.func @many
func.func @many(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %n: index,
                %x: memref<f32>, %w: memref<f32>, %y: memref<f32>) {
  %tokens = arith.constant 197 : index
  %rows = arith.muli %n, %tokens : index
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [%rows, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [6144], strides: [1] : memref<f32> to memref<6144xf32, strided<[1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [%rows, 96], strides: [96, 1] : memref<f32> to memref<?x96xf32, strided<[96, 1]>>
  attn.linear_kernel %in, %panels into %out contract 1
    : memref<?x64xf32, strided<[64, 1]>>, memref<6144xf32, strided<[1]>> into memref<?x96xf32, strided<[96, 1]>>
  return
}

// The only panel is not fetched in advance, and no more columns are computed than fill vectors. Blocks of one size need no choice.
// CHECK-LABEL: func.func private @classes.linear_kernel
// CHECK-NOT: scf.if
// CHECK: attn.linear_tile
// V4-SAME: size 8 x 16 x 64 contract 1 pace
// V3-SAME: size 4 x 16 x 64 contract 1 pace
// CHECK-LABEL: func.func @classes
func.func @classes(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                   %x: memref<f32>, %w: memref<f32>, %y: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [16, 64], strides: [64, 1] : memref<f32> to memref<16x64xf32, strided<[64, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [3072], strides: [1] : memref<f32> to memref<3072xf32, strided<[1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [16, 10], strides: [10, 1] : memref<f32> to memref<16x10xf32, strided<[10, 1]>>
  attn.linear_kernel %in, %panels into %out contract 1
    : memref<16x64xf32, strided<[64, 1]>>, memref<3072xf32, strided<[1]>> into memref<16x10xf32, strided<[10, 1]>>
  return
}

// Long sums come in parts that all panels pass by, the last one shorter; each tile fetches its share of the next panel's part.
// CHECK-LABEL: func.func private @deep.linear_kernel
// CHECK: scf.for %[[PART:.*]] = %c0{{.*}} to %c3
// CHECK: scf.for %[[PANEL:.*]] = %{{.*}} to
// CHECK: scf.for %[[BLOCK:.*]] = %{{.*}} to
// CHECK: %[[START:.*]] = arith.muli %[[PART]], %c768
// CHECK: attn.linear_tile {{.*}}, %[[START]] size {{.*}} x 768 contract 1 ahead
// CHECK: %[[START:.*]] = arith.constant 2304
// CHECK: attn.linear_tile {{.*}}, %[[START]] size {{.*}} x 766 contract 1 ahead
// CHECK-LABEL: func.func @deep
func.func @deep(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                %x: memref<f32>, %w: memref<f32>, %y: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [200, 3070], strides: [3088, 1] : memref<f32> to memref<200x3070xf32, strided<[3088, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [147360], strides: [1] : memref<f32> to memref<147360xf32, strided<[1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [200, 48], strides: [48, 1] : memref<f32> to memref<200x48xf32, strided<[48, 1]>>
  attn.linear_kernel %in, %panels into %out contract 1
    : memref<200x3070xf32, strided<[3088, 1]>>, memref<147360xf32, strided<[1]>> into memref<200x48xf32, strided<[48, 1]>>
  return
}

// Few rows leave more of the cache to a panel: its parts are longer.
// CHECK-LABEL: func.func private @few_rows.linear_kernel
// CHECK: attn.linear_tile {{.*}} x 1536 contract 1 ahead
// CHECK: attn.linear_tile {{.*}} x 1534 contract 1 ahead
// CHECK-NOT: attn.linear_tile
// CHECK-LABEL: func.func @few_rows
func.func @few_rows(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                %x: memref<f32>, %w: memref<f32>, %y: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [16, 3070], strides: [3088, 1] : memref<f32> to memref<16x3070xf32, strided<[3088, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [147360], strides: [1] : memref<f32> to memref<147360xf32, strided<[1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [16, 48], strides: [48, 1] : memref<f32> to memref<16x48xf32, strided<[48, 1]>>
  attn.linear_kernel %in, %panels into %out contract 1
    : memref<16x3070xf32, strided<[3088, 1]>>, memref<147360xf32, strided<[1]>> into memref<16x48xf32, strided<[48, 1]>>
  return
}

// A single block passes by each panel once: all of k at a time.
// CHECK-LABEL: func.func private @one_block.linear_kernel
// CHECK: attn.linear_tile {{.*}} x 3072 contract 1
// CHECK-NOT: attn.linear_tile
// CHECK-LABEL: func.func @one_block
func.func @one_block(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                     %x: memref<f32>, %w: memref<f32>, %y: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [4, 3072], strides: [3088, 1] : memref<f32> to memref<4x3072xf32, strided<[3088, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [147456], strides: [1] : memref<f32> to memref<147456xf32, strided<[1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [4, 16], strides: [16, 1] : memref<f32> to memref<4x16xf32, strided<[16, 1]>>
  attn.linear_kernel %in, %panels into %out contract 1
    : memref<4x3072xf32, strided<[3088, 1]>>, memref<147456xf32, strided<[1]>> into memref<4x16xf32, strided<[16, 1]>>
  return
}

// 1000 rows go through all panels in groups of 25 blocks of 8 at most.
// CHECK-LABEL: func.func private @groups.linear_kernel
// V4: scf.for %[[GROUP:.*]] = %c0{{.*}} to %c5
// V4: arith.muli %[[GROUP]], %c25
// CHECK-LABEL: func.func @groups
func.func @groups(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index,
                  %x: memref<f32>, %w: memref<f32>, %y: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [1000, 64], strides: [64, 1] : memref<f32> to memref<1000x64xf32, strided<[64, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [264192], strides: [1] : memref<f32> to memref<264192xf32, strided<[1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [1000, 4128], strides: [4128, 1] : memref<f32> to memref<1000x4128xf32, strided<[4128, 1]>>
  attn.linear_kernel %in, %panels into %out contract 1
    : memref<1000x64xf32, strided<[64, 1]>>, memref<264192xf32, strided<[1]>> into memref<1000x4128xf32, strided<[4128, 1]>>
  return
}

// As many rows as a batch has: every number is a sum of powers of two. They may be few, so that each iteration of four steps fetches a line of the next panel.
// CHECK-LABEL: func.func private @batch.linear_kernel
// V4: size 8 x 48 x 64 contract 1 pace 4
// V4: size 4 x
// V3: size 4 x 24 x 64 contract 1 ahead %{{.*}} pace 4
// CHECK: size 2 x
// CHECK: size 1 x
// CHECK-NOT: attn.linear_tile
// CHECK-LABEL: func.func @batch
func.func @batch(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %b: index,
                 %x: memref<f32>, %w: memref<f32>, %y: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [%b, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [3072], strides: [1] : memref<f32> to memref<3072xf32, strided<[1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [%b, 48], strides: [48, 1] : memref<f32> to memref<?x48xf32, strided<[48, 1]>>
  attn.linear_kernel %in, %panels into %out contract 1
    : memref<?x64xf32, strided<[64, 1]>>, memref<3072xf32, strided<[1]>> into memref<?x48xf32, strided<[48, 1]>>
  return
}

// Panels of bf16 are widened to f32, part by part, once for all blocks of rows; for up to three blocks they are not.
// CHECK-LABEL: func.func private @widened.linear_kernel
// V4: %[[ROOM:.*]] = memref.subview %{{.*}}[%{{.*}}, 0] [1, 3072] [1, 1]
// V3: %[[ROOM:.*]] = memref.subview %{{.*}}[%{{.*}}, 0] [1, 1536] [1, 1]
// CHECK: cmpi ugt, %{{.*}}, %c3
// CHECK: scf.if
// CHECK: scf.for %[[PANEL:.*]] = %{{.*}} to
// CHECK: attn.widen_tile %[[PANELS:.*]] into %[[ROOM]] at %{{.*}} steps 32
// CHECK: scf.for %[[BLOCK:.*]] = %{{.*}} to
// CHECK: attn.linear_tile %{{.*}}, %[[PANELS]] widened %[[ROOM]] into
// CHECK: else
// CHECK-NOT: widen
// CHECK: attn.linear_tile
// CHECK-LABEL: func.func @widened
func.func @widened(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %b: index,
                   %x: memref<f32>, %w: memref<i16>, %y: memref<f32>) {
  %in = memref.reinterpret_cast %x to offset: [0], sizes: [%b, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %panels = memref.reinterpret_cast %w to offset: [0], sizes: [3072], strides: [1] : memref<i16> to memref<3072xi16, strided<[1]>>
  %room = memref.reinterpret_cast %x to offset: [0], sizes: [%threads, 3072], strides: [3072, 1] : memref<f32> to memref<?x3072xf32, strided<[3072, 1]>>
  %out = memref.reinterpret_cast %y to offset: [0], sizes: [%b, 48], strides: [48, 1] : memref<f32> to memref<?x48xf32, strided<[48, 1]>>
  attn.linear_kernel %in, %panels scratch %room into %out contract 1 in bf16
    : memref<?x64xf32, strided<[64, 1]>>, memref<3072xi16, strided<[1]>> scratch memref<?x3072xf32, strided<[3072, 1]>> into memref<?x48xf32, strided<[48, 1]>>
  return
}
