// RUN: attn-opt %s -attn-sink-map -canonicalize -cse | FileCheck %s

!q = tensor<?x2x8xf32, #attn.axes<"T", "H", "E">>
!k = tensor<?x2x8xf32, #attn.axes<"S:kv", "H", "E">>
!row = tensor<2x8xf32, #attn.axes<"H", "E">>

attn.dim @T dyn 64
attn.dim @kv dyn 64 cache

// The last of T queries has row T - 1, which is position kv - 1 in the cache.
// CHECK-LABEL: @last
// CHECK: %[[ROW:.*]] = attn.slice %arg0 axis 0 at 0 end drop
// CHECK: attn.attention %[[ROW]] over %arg1, %arg1
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[KEY:.*]]: index):
// CHECK: %[[T:.*]] = attn.size @T
// CHECK-NEXT: %[[LAST:.*]] = arith.subi %[[T]], %c1
// CHECK-NEXT: %[[ALL:.*]] = attn.size @kv
// CHECK-NEXT: %[[FIRST:.*]] = arith.subi %[[ALL]], %[[T]]
// CHECK-NEXT: arith.addi %[[FIRST]], %[[LAST]]
func.func @last(%x: !q, %k: !k) -> !row {
  %y = attn.attention %x over %k, %k along "S:kv" : (!q, !k, !k) -> !q score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index):
    %s = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %s : f32
  } mask {
  ^bb0(%t: index, %h: index, %j: index):
    %all = attn.size @kv
    %new = attn.size @T
    %first = arith.subi %all, %new : index
    %i = arith.addi %first, %t : index
    %m = arith.cmpi ule, %j, %i : index
    attn.yield %m : i1
  }
  %row = attn.slice %y axis 0 at 0 end drop : !q -> !row
  return %row : !row
}
