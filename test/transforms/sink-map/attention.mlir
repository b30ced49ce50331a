// RUN: attn-opt %s -attn-sink-map -canonicalize -cse | FileCheck %s

!q = tensor<4x2x8xf32, #attn.axes<"T", "H", "E">>
!k = tensor<4x2x8xf32, #attn.axes<"S", "H", "E">>
!row = tensor<2x8xf32, #attn.axes<"H", "E">>

// One query's output needs one query, and all keys, though all are the same tensor.
// CHECK-LABEL: @query
// CHECK: %[[ROW:.*]] = attn.slice %arg0 axis 0 at 3 drop
// CHECK: attn.attention %[[ROW]] over %[[KEYS:.*]], %[[KEYS]] along "S" : (tensor<2x8xf32
func.func @query(%x: !q) -> !row {
  %k = attn.relabel %x : !q -> !k
  %y = attn.attention %x over %k, %k along "S" : (!q, !k, !k) -> !q score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index):
    %s = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %s : f32
  }
  %row = attn.slice %y axis 0 at 3 drop : !q -> !row
  return %row : !row
}

// A mask counts queries from the first of all, whichever are left.
// CHECK-LABEL: @masked
// CHECK: %[[THREE:.*]] = arith.constant 3 : index
// CHECK: %[[ROW:.*]] = attn.slice %arg0 axis 0 at 3 drop
// CHECK: attn.attention %[[ROW]]
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[KEY:.*]]: index):
// CHECK-NEXT: arith.cmpi ule, %[[KEY]], %[[THREE]]
func.func @masked(%x: !q) -> !row {
  %k = attn.relabel %x : !q -> !k
  %y = attn.attention %x over %k, %k along "S" : (!q, !k, !k) -> !q score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index):
    %s = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %s : f32
  } mask {
  ^bb0(%t: index, %h: index, %j: index):
    %m = arith.cmpi ule, %j, %t : index
    attn.yield %m : i1
  }
  %row = attn.slice %y axis 0 at 3 drop : !q -> !row
  return %row : !row
}
