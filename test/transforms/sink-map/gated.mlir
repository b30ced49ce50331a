// RUN: attn-opt %s -attn-sink-map -canonicalize -cse | FileCheck %s

!x = tensor<6x8xf32, #attn.axes<"T", "D">>
!w = tensor<3x8xf32, #attn.axes<"F", "D">>
!y = tensor<6x3xf32, #attn.axes<"T", "F">>
!row = tensor<3xf32, #attn.axes<"F">>

// Both factors of a gated MLP are computed of the one row that is left.
// CHECK-LABEL: @gated
// CHECK: %[[ROW:.*]] = attn.slice %arg0 axis 0 at 5 drop
// CHECK-NOT: attn.slice
// CHECK-DAG: attn.linear %[[ROW]], %arg1
// CHECK-DAG: attn.linear %[[ROW]], %arg2
// CHECK-NOT: attn.slice
func.func @gated(%x: !x, %gate: !w, %up: !w) -> !row {
  %g = attn.linear %x, %gate contract 1 : (!x, !w) -> !y
  %u = attn.linear %x, %up contract 1 : (!x, !w) -> !y
  %p = attn.map(%g, %u) : (!y, !y) -> !y {
  ^bb0(%a: f32, %b: f32):
    %zero = arith.constant 0.0 : f32
    %r = arith.maximumf %a, %zero : f32
    %s = arith.mulf %r, %b : f32
    attn.yield %s : f32
  }
  %row = attn.slice %p axis 0 at 5 drop : !y -> !row
  return %row : !row
}

// All rows of a projection are needed: the other one is computed with it.
// CHECK-LABEL: @projections
// CHECK-NOT: attn.slice %arg0
// CHECK: return
func.func @projections(%x: !x, %q: !w, %k: !w) -> (!row, !y) {
  %a = attn.linear %x, %q contract 1 : (!x, !w) -> !y
  %b = attn.linear %x, %k contract 1 : (!x, !w) -> !y
  %row = attn.slice %a axis 0 at 5 drop : !y -> !row
  return %row, %b : !row, !y
}
