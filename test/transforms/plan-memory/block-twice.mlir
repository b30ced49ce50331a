// RUN: attn-opt %s -attn-plan-memory -attn-check-memory | FileCheck %s

!x = tensor<3x8xf32, #attn.axes<"T", "D">>

// A block that is called twice is planned once.
// CHECK: func.func private @Negative(
// CHECK-NOT: func.func private @Negative(
// CHECK: func.func private @twice(
// CHECK-COUNT-2: call @Negative(
// CHECK-NOT: func.func private @Negative(
func.func private @Negative(%x: !x) -> !x {
  %y = attn.map(%x) : (!x) -> !x {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    attn.yield %b : f32
  }
  return %y : !x
}
func.func @twice(%x: !x) -> !x attributes {attn.entry} {
  %y = call @Negative(%x) : (!x) -> !x
  %z = call @Negative(%y) : (!x) -> !x
  return %z : !x
}
