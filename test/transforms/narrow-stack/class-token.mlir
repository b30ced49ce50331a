// RUN: attn-opt %s -attn-narrow-stack -attn-sink-map -canonicalize -cse | FileCheck %s

!x = tensor<?x4x8xf32, #attn.axes<"B", "T", "D">>
!y = tensor<?x8xf32, #attn.axes<"B", "D">>
!w = tensor<8x8xf32, #attn.axes<"D", "D">>
attn.dim @B dyn 4
attn.param @w : !w from <"h.{n}.w", [8, 8], offset = 0, strides = [8, 1]> layers 3

// Two layers in full, then the rows of the last that are read.
// CHECK-LABEL: func.func @class_token
// CHECK: %[[TWO:.*]] = arith.constant 2
// CHECK: %[[X:.*]] = scf.for {{.*}} to %[[TWO]] step
// CHECK: func.call @Block(
// CHECK: %[[Y:.*]] = call @Block.last(%[[TWO]], %[[X]])
// CHECK: return %[[Y]]
func.func @class_token(%x: !x) -> !y attributes {attn.entry} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %layers = arith.constant 3 : index
  %y = scf.for %n = %zero to %layers step %one iter_args(%a = %x) -> (!x) {
    %z = func.call @Block(%n, %a) : (index, !x) -> !x
    scf.yield %z : !x
  }
  %token = attn.slice %y axis 1 at 0 drop : !x -> !y
  return %token : !y
}

// The whole output is read: nothing to narrow.
// CHECK-LABEL: func.func @all_tokens
// CHECK: arith.constant 3
// CHECK-NOT: Block.last
// CHECK: return
func.func @all_tokens(%x: !x) -> (!x, !y) attributes {attn.entry} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %layers = arith.constant 3 : index
  %y = scf.for %n = %zero to %layers step %one iter_args(%a = %x) -> (!x) {
    %z = func.call @Block(%n, %a) : (index, !x) -> !x
    scf.yield %z : !x
  }
  %token = attn.slice %y axis 1 at 0 drop : !x -> !y
  return %y, %token : !x, !y
}

// CHECK-LABEL: func.func private @Block.last
// CHECK-SAME: -> tensor<?x8xf32, #attn.axes<"B", "D">>
// CHECK: %[[ROW:.*]] = attn.slice %arg1 axis 1 at 0 drop
// CHECK: %[[SUM:.*]] = attn.linear %[[ROW]]
// CHECK: attn.map(%[[ROW]], %[[SUM]])
// CHECK-LABEL: func.func private @Block(
// CHECK-NOT: attn.slice
func.func private @Block(%n: index, %x: !x) -> !x {
  %w = attn.get @w[%n] : !w
  %y = attn.linear %x, %w contract 1 : (!x, !w) -> !x
  %z = attn.map(%x, %y) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  return %z : !x
}
