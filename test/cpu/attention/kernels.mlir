// RUN: attn-opt %s -attn-vectorize=level=x86-64-v4 -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,V4
// RUN: attn-opt %s -attn-vectorize=level=x86-64-v3 -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,V3

// Two keys by 16 queries: the sums stay in registers over the features, the last four of which are done key by key.
// CHECK-LABEL: @scores
// V4: %[[S:.*]]:2 = scf.for %{{.*}} = %c0 to %c4 step %c1 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>) {
// V3: %[[S:.*]]:4 = scf.for %{{.*}} = %c0 to %c4 step %c1 iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// V4: vector.load
// V4-COUNT-2: math.fma
// V3-COUNT-2: vector.load
// V3-COUNT-4: math.fma
// CHECK: scf.yield
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[S]]#0
// V4-COUNT-2: math.fma
// V3-COUNT-6: math.fma
// CHECK: %[[SUM:.*]] = math.fma
// CHECK: vector.store %[[SUM]]
// CHECK: arith.cmpf ogt, %[[SUM]]
// V4: math.fma %{{.*}}, %{{.*}}, %[[S]]#1
// V4-COUNT-2: math.fma
// V4: %[[LAST:.*]] = math.fma
// V4-NEXT: vector.store %[[LAST]]
// CHECK-NOT: attn.
func.func @scores(%block: memref<8x48xf32>, %key: memref<24x8xf32>, %strip: memref<24x48xf32>, %statistics: memref<4x48xf32>, %row: index, %lane: index) {
  attn.score_tile %block, %key into %strip[%row, %lane] maximum %statistics keys 2 queries 16 : memref<8x48xf32>, memref<24x8xf32>, memref<24x48xf32>, memref<4x48xf32>
  return
}

// Of two vectors of queries, the scores of three keys above become weights, one vector with each of the first six features, none
// in the first rows. Where a maximum grew by more than 8, those weights, sums and factors are multiplied.
// CHECK-LABEL: @weighed
// V4: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[ROW:.*]], %c0
// V4: %[[KEYS:.*]] = arith.select %[[IS_FIRST]], %c0, %c3
// V4: %[[ABOVE:.*]] = arith.subi %[[ROW]], %[[KEYS]]
// V4: scf.for %[[KEY:[a-z0-9]+]] = %c0 to %[[KEYS]] step %c1
// V4-COUNT-4: math.fma
// V4: %[[AT:.*]] = arith.addi %[[ABOVE]], %[[KEY]]
// V4: %[[SCORE:.*]] = vector.load %{{.*}}[%[[AT]], %{{.*}}]
// V4: %[[D:.*]] = arith.subf %[[SCORE]]
// V4: %[[P:.*]] = math.exp2 %[[D]] : vector<16xf32>
// V4: vector.store %[[P]], %{{.*}}[%[[AT]], %{{.*}}]
// V4: arith.addf %{{.*}}, %[[P]]
// V4-COUNT-4: math.fma
// V4: math.exp2
// V4: scf.yield
// V4: %[[DONE:.*]] = arith.muli %[[KEYS]], %c2
// V4: scf.for %{{.*}} = %[[DONE]] to %c20 step %c1
// V4: vector.reduction <or>
// V4: scf.if
// V4-COUNT-2: math.exp2
// V4: scf.for %[[UP:[a-z0-9]+]] = %c0 to %[[ROW]] step %c1
// V4: arith.mulf
// V4: vector.store %{{.*}}[%[[UP]], %{{.*}}]
func.func @weighed(%block: memref<24x48xf32>, %key: memref<24x24xf32>, %strip: memref<24x48xf32>, %statistics: memref<4x48xf32>, %row: index, %lane: index) {
  attn.score_tile %block, %key into %strip[%row, %lane] maximum %statistics keys 2 queries 32 weighs 3 : memref<24x48xf32>, memref<24x24xf32>, memref<24x48xf32>, memref<4x48xf32>
  return
}

// A bias and a mask that are tensors: rows of two keys, not gathers; lanes beyond the last query repeat its row. Of the mask, whose rows
// are looked up in a fixed one of its first axis, each key's bytes become truth values. The next line of each row of the bias is prefetched.
// CHECK-LABEL: @tensors
// CHECK: scf.for %[[E:[a-z0-9]+]] =
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[E]]
// CHECK: memref.prefetch %{{.*}}[%{{.*}}, %[[ROW]], %{{.*}}], read
// CHECK-NOT: memref.prefetch
// CHECK: scf.yield
// CHECK-NOT: vector.gather
// CHECK: %[[QUERY:.*]] = arith.minui
// CHECK: vector.load %{{.*}}[%{{.*}}, %[[QUERY]], %{{.*}}] : memref<2x40x24xf32>, vector<2xf32>
// V4-COUNT-15: vector.load {{.*}} vector<2xf32>
// V3-COUNT-7: vector.load {{.*}} vector<2xf32>
// CHECK: vector.shuffle
// CHECK: vector.load %{{.*}}[%c1{{.*}}, %{{.*}}, %{{.*}}] : memref<3x40x24xi8>, vector<2xi8>
// CHECK-NEXT: arith.extui
// CHECK-NOT: vector.gather
// V4: arith.cmpi ne, %{{.*}} : vector<16xi32>
// V3: arith.cmpi ne, %{{.*}} : vector<8xi32>
// CHECK: return
func.func @tensors(%block: memref<8x48xf32>, %key: memref<24x8xf32>, %strip: memref<24x48xf32>, %statistics: memref<4x48xf32>, %row: index, %lane: index,
                   %bias: memref<2x40x24xf32>, %mask: memref<3x40x24xi8>, %h: index, %first: index, %last: index, %firstKey: index) {
  attn.score_tile %block, %key into %strip[%row, %lane] maximum %statistics keys 2 queries 16 at(%h, %first, %last, %firstKey)
    : memref<8x48xf32>, memref<24x8xf32>, memref<24x48xf32>, memref<4x48xf32> score {
  ^bb0(%s: f32, %b: index, %i: index, %j: index):
    %one = arith.constant 1 : index
    %none = arith.constant -1.0 : f32
    %x = attn.element %bias[%b, %i, %j] : memref<2x40x24xf32> -> f32
    %live = attn.element %mask[%one, %i, %j] : memref<3x40x24xi8> -> i1
    %sum = arith.addf %s, %x : f32
    %all = arith.select %live, %sum, %none : f32
    attn.yield %all : f32
  }
  return
}

// Elements at other places are gathered.
// CHECK-LABEL: @table
// CHECK: vector.gather
func.func @table(%block: memref<8x48xf32>, %key: memref<24x8xf32>, %strip: memref<24x48xf32>, %statistics: memref<4x48xf32>, %row: index, %lane: index,
                 %table: memref<80xf32>, %first: index, %last: index, %firstKey: index) {
  attn.score_tile %block, %key into %strip[%row, %lane] maximum %statistics keys 2 queries 16 at(%first, %last, %firstKey)
    : memref<8x48xf32>, memref<24x8xf32>, memref<24x48xf32>, memref<4x48xf32> score {
  ^bb0(%s: f32, %i: index, %j: index):
    %place = arith.addi %i, %j : index
    %x = attn.element %table[%place] : memref<80xf32> -> f32
    %sum = arith.addf %s, %x : f32
    attn.yield %sum : f32
  }
  return
}

// Least and greatest of a box: four rows at a time, the last of them repeated, by vectors of 32 bytes or of 32 bits; one by one where rows
// are shorter than a vector.
// CHECK-LABEL: @ranges
// CHECK: %[[LAST:.*]] = arith.minsi %{{.*}}, %c39
// CHECK: scf.if {{.*}} -> (i1, i1) {
// CHECK: vector.load {{.*}} vector<32xi8>
// CHECK: scf.for {{.*}} step %c4
// CHECK: scf.for {{.*}} step %c32
// CHECK-COUNT-4: vector.load
// CHECK: arith.minui
// CHECK: vector.reduction <minui>
// CHECK: vector.reduction <maxui>
// CHECK: else
// CHECK: memref.load
// CHECK: arith.andi
// V4: vector.load {{.*}} vector<16xf32>
// V3: vector.load {{.*}} vector<8xf32>
// CHECK: vector.reduction <minimumf>
// CHECK: vector.reduction <maximumf>
// CHECK: arith.minimumf
// CHECK-NOT: attn.
func.func @ranges(%mask: memref<3x40x24xi8>, %bias: memref<24xf32>, %b: index, %i: index, %iEnd: index, %j: index, %jEnd: index) -> (i1, i1, f32, f32) {
  %all, %any = attn.range_tile %mask[%b, %i, %j] to [%b, %iEnd, %jEnd] : memref<3x40x24xi8> -> i1, i1
  %least, %greatest = attn.range_tile %bias[%j] to [%jEnd] : memref<24xf32> -> f32, f32
  return %all, %any, %least, %greatest : i1, i1, f32, f32
}

// Weights and their sum, in place.
// CHECK-LABEL: @softmax
// V4: scf.for %[[KEY:[a-z0-9]+]] = {{.*}} -> (vector<16xf32>) {
// V4: %[[X:.*]] = vector.load %{{.*}}[%[[KEY]], %{{.*}}]
// V4: %[[D:.*]] = arith.subf %[[X]]
// V4: %[[P:.*]] = math.exp2 %[[D]] : vector<16xf32>
// V4: vector.store %[[P]], %{{.*}}[%[[KEY]], %{{.*}}]
// V4: arith.addf %{{.*}}, %[[P]]
// CHECK-NOT: attn.
func.func @softmax(%strip: memref<24x48xf32>, %statistics: memref<4x48xf32>, %lane: index, %keys: index) {
  attn.softmax_tile %strip[%lane] into %strip, %statistics keys %keys queries 16 : memref<24x48xf32>, memref<24x48xf32>, memref<4x48xf32>
  return
}

// More of them: added to the sums that there are.
// CHECK-LABEL: @more
// V4: %[[SUM:.*]] = vector.load %{{.*}}[%c1, %{{.*}}]
// V4: scf.for {{.*}} iter_args(%{{.*}} = %[[SUM]])
func.func @more(%strip: memref<24x48xf32>, %statistics: memref<4x48xf32>, %lane: index, %keys: index) {
  attn.softmax_tile %strip[%lane] into %strip, %statistics keys %keys queries 16 more : memref<24x48xf32>, memref<24x48xf32>, memref<4x48xf32>
  return
}

// 20 columns: with AVX-512 a whole vector and half of one, else two and half of one, of which 4 elements are there. Sums have room for whole vectors.
// CHECK-LABEL: @values
// V4: scf.for {{.*}} -> (vector<16xf32>, vector<8xf32>, vector<16xf32>, vector<8xf32>) {
// CHECK: vector.maskedload
// V4-COUNT-4: math.fma
// V3-COUNT-6: math.fma
// CHECK: scf.yield
// V4-COUNT-4: vector.store
// V3-COUNT-6: vector.store
// CHECK-NOT: attn.
func.func @values(%strip: memref<24x48xf32>, %value: memref<24x20xf32>, %sums: memref<48x32xf32>, %statistics: memref<4x48xf32>, %row: index, %column: index, %keys: index) {
  attn.value_tile %strip, %value into %sums[%row, %column] keys %keys rows 2 columns 20 : memref<24x48xf32>, memref<24x20xf32>, memref<48x32xf32>
  return
}

// Rows of the output, the last vector masked.
// CHECK-LABEL: @output
// CHECK: scf.for
// CHECK: arith.divf
// CHECK: vector.store
// CHECK: vector.maskedstore
// CHECK-NOT: attn.
func.func @output(%sums: memref<48x32xf32>, %statistics: memref<4x48xf32>, %out: memref<?x20xf32>) {
  attn.output_tile %sums, %statistics into %out normalise : memref<48x32xf32>, memref<4x48xf32>, memref<?x20xf32>
  return
}

