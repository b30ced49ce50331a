// RUN: attn-opt %s -attn-plan-memory -attn-check-memory -canonicalize -cse | FileCheck %s

!x = tensor<16x8xf32, #attn.axes<"T", "D">>
!h = tensor<8x16xf32, #attn.axes<"D", "T">>

// A slot is free when its last reader has run: %b takes a second one, %c the first again.
// CHECK-LABEL: func.func private @chain(
// CHECK: %[[A:.*]] = memref.view %{{.*}}[%c0]
// CHECK: attn.map_kernel{{.*}} into %[[AROWS:.*]] :
// CHECK: %[[B:.*]] = memref.view %{{.*}}[%c512]
// CHECK: attn.map_kernel
// CHECK: attn.map_kernel{{.*}} into %[[AROWS]] :
// CHECK: attn.map_kernel{{.*}} into %{{.*}} :
// CHECK-LABEL: func.func private @workspace.chain
// CHECK: arith.constant 1150
func.func @chain(%x: !x) -> !x attributes {attn.entry} {
  %a = attn.map(%x) : (!x) -> !x {
  ^bb0(%e: f32):
    %r = arith.negf %e : f32
    attn.yield %r : f32
  }
  %b = attn.map(%a) : (!x) -> !x {
  ^bb0(%e: f32):
    %r = arith.addf %e, %e : f32
    attn.yield %r : f32
  }
  %c = attn.map(%b) : (!x) -> !x {
  ^bb0(%e: f32):
    %r = arith.mulf %e, %e : f32
    attn.yield %r : f32
  }
  %d = attn.map(%c, %b) : (!x, !x) -> !x {
  ^bb0(%e: f32, %f: f32):
    %r = arith.mulf %e, %f : f32
    attn.yield %r : f32
  }
  return %d : !x
}

// A result that is a view of the input is copied, column by column where it was transposed.
// CHECK-LABEL: func.func private @transposed
// CHECK: %[[IN:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [8, 16], strides: [1, 8]
// CHECK: attn.map_kernel(%[[IN]])
func.func @transposed(%x: !x) -> !h attributes {attn.entry} {
  %y = attn.rearrange %x split [1, 1] atoms [16, 8] order [1, 0] merge [1, 1] : !x -> !h
  return %y : !h
}
