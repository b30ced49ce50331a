// RUN: attn-opt %s -attn-tile=level=x86-64-v4 -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s -attn-tile=level=x86-64-v4 -attn-vectorize=level=x86-64-v4 -attn-check-kernels -attn-lower-runtime | FileCheck %s --check-prefix=LOWERED

attn.dim @T dyn 4096
attn.cost @cost.much "negation" flop [[16777216]] bytes []
attn.cost @cost.little "negation" flop [[64, "T"]] bytes [[256, "T"]]
attn.cost @cost.some "negation" flop [[8192, "T"]] bytes []

// Threads claim pieces of a kernel that is alone between barriers until there are none: one at a time, or more where there are many threads.
// CHECK-LABEL: func.func @shared(
// CHECK-SAME: %[[CALL:[a-z0-9]+]]: memref<i8>, %[[THREAD:[a-z0-9]+]]: index, %[[THREADS:[a-z0-9]+]]: index
// CHECK: %[[SCALED:.*]] = arith.muli %[[THREADS]], %c4194304
// CHECK: %[[LEAST:.*]] = arith.divui %[[SCALED]], %c16777216
// CHECK: scf.while
// CHECK: %[[FROM:.*]], %[[TO:.*]] = attn.claim %[[LEAST]] of %[[CALL]], %[[THREAD]]
// CHECK: %[[SOME:.*]] = arith.cmpi ult, %[[FROM]], %[[TO]]
// CHECK: scf.condition(%[[SOME]]) %[[FROM]], %[[TO]]
// CHECK: func.call @shared.map_kernel({{.*}}, %[[THREAD]], %[[THREADS]])
// CHECK: attn.barrier
// LOWERED-LABEL: func.func @shared(
// LOWERED: %[[WORD:.*]] = llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i64, i64) -> i64
// LOWERED: llvm.lshr %[[WORD]]
// LOWERED: llvm.and %[[WORD]]
func.func @shared(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %t: index,
                  %in: memref<f32>, %to: memref<f32>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [%t, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %y = memref.reinterpret_cast %to to offset: [0], sizes: [%t, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  attn.map_kernel (%x) into %y : (memref<?x64xf32, strided<[64, 1]>>), memref<?x64xf32, strided<[64, 1]>> {
  ^bb0(%a: f32):
    %r = arith.negf %a : f32
    attn.yield %r : f32
  }
  attn.barrier %call, %thread after @cost.much : memref<i8>
  return
}

// Little work is divided once: always, or where the dims are small.
// CHECK-LABEL: func.func @little(
// CHECK-SAME: %[[T:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: memref<f32>
// CHECK-NOT: attn.claim
// CHECK: call @little.map_kernel(
// CHECK: attn.barrier
// CHECK: %[[WORK:.*]] = arith.muli %[[T]], %c8192
// CHECK: %[[FEW:.*]] = arith.cmpi ult, %[[WORK]], %c8388608
// CHECK: scf.if %[[FEW]]
// CHECK-NOT: attn.claim
// CHECK: call @little.map_kernel.2(
// CHECK: } else {
// CHECK: attn.claim
// CHECK: call @little.map_kernel.2(
func.func @little(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %t: index,
                  %in: memref<f32>, %to: memref<f32>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [%t, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %y = memref.reinterpret_cast %to to offset: [0], sizes: [%t, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  attn.map_kernel (%x) into %y : (memref<?x64xf32, strided<[64, 1]>>), memref<?x64xf32, strided<[64, 1]>> {
  ^bb0(%a: f32):
    %r = arith.negf %a : f32
    attn.yield %r : f32
  }
  attn.barrier %call, %thread after @cost.little : memref<i8>
  attn.map_kernel (%x) into %y : (memref<?x64xf32, strided<[64, 1]>>), memref<?x64xf32, strided<[64, 1]>> {
  ^bb0(%a: f32):
    %r = arith.negf %a : f32
    attn.yield %r : f32
  }
  attn.barrier %call, %thread after @cost.some : memref<i8>
  return
}

// Kernels without a barrier between them have the same threads for the same pieces.
// CHECK-LABEL: func.func @together(
// CHECK-NOT: attn.claim
// CHECK: call @together.map_kernel(
// CHECK-NOT: attn.claim
// CHECK: call @together.map_kernel.2(
// CHECK: attn.barrier
func.func @together(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index, %threads: index, %t: index,
                    %in: memref<f32>, %to: memref<f32>) {
  %x = memref.reinterpret_cast %in to offset: [0], sizes: [%t, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %y = memref.reinterpret_cast %to to offset: [0], sizes: [%t, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  attn.map_kernel (%x) into %y : (memref<?x64xf32, strided<[64, 1]>>), memref<?x64xf32, strided<[64, 1]>> {
  ^bb0(%a: f32):
    %r = arith.negf %a : f32
    attn.yield %r : f32
  }
  attn.map_kernel (%y) into %x : (memref<?x64xf32, strided<[64, 1]>>), memref<?x64xf32, strided<[64, 1]>> {
  ^bb0(%a: f32):
    %r = arith.negf %a : f32
    attn.yield %r : f32
  }
  attn.barrier %call, %thread after @cost.much : memref<i8>
  return
}
