// RUN: attn-opt %s -attn-fuse-epilogue | FileCheck %s

!x = tensor<?x5x8xf32, #attn.axes<"B", "T", "D">>
!h = tensor<?x5x16xf32, #attn.axes<"B", "T", "F">>
!w1 = tensor<16x8xf32, #attn.axes<"F", "D">>
!w2 = tensor<8x16xf32, #attn.axes<"D", "F">>

// The activation ends in the first linear, the residual in the second.
// CHECK-LABEL: @mlp
func.func @mlp(%x: !x, %w1: !w1, %w2: !w2) -> !x {
  // CHECK: attn.linear %{{.*}}, %{{.*}} contract 1 epilogue {
  // CHECK: math.erf
  // CHECK: attn.linear {{.*}} captures(%{{.*}}) epilogue {
  // CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[X:.*]]: f32):
  // CHECK-NEXT: arith.addf %[[X]], %[[SUM]]
  // CHECK-NOT: attn.map
  %a = attn.linear %x, %w1 contract 1 : (!x, !w1) -> !h
  %b = attn.map(%a) : (!h) -> !h {
  ^bb0(%e: f32):
    %f = math.erf %e : f32
    attn.yield %f : f32
  }
  %c = attn.linear %b, %w2 contract 1 : (!h, !w2) -> !x
  %d = attn.map(%x, %c) : (!x, !x) -> !x {
  ^bb0(%e: f32, %f: f32):
    %g = arith.addf %e, %f : f32
    attn.yield %g : f32
  }
  return %d : !x
}

// A linear that is read twice stays as it is.
// CHECK-LABEL: @read_twice
func.func @read_twice(%x: !x, %w: tensor<8x8xf32, #attn.axes<"D", "D">>) -> (!x, !x) {
  // CHECK: attn.linear
  // CHECK: attn.map
  %a = attn.linear %x, %w contract 1 : (!x, tensor<8x8xf32, #attn.axes<"D", "D">>) -> !x
  %b = attn.map(%a) : (!x) -> !x {
  ^bb0(%e: f32):
    %f = math.tanh %e : f32
    attn.yield %f : f32
  }
  return %a, %b : !x, !x
}
