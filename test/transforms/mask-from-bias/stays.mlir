// RUN: attn-opt %s -attn-mask-from-bias --remarks-filter-missed=.* 2>&1 | FileCheck %s

!q = tensor<128x8xf32, #attn.axes<"T", "E">>
!k = tensor<128x8xf32, #attn.axes<"S", "E">>

// No tile is empty: the mask would be looked at in vain.
// CHECK: [Missed] N0103 {{.*}}the bias is -inf for some pairs, but for no whole tile of 48 queries and 32 keys
// CHECK: [Missed] N0103 {{.*}}the cap makes a finite score of it
// CHECK-LABEL: func.func @scattered
// CHECK-NOT: } mask
func.func @scattered(%q: !q, %k: !k) -> !q {
  %r = attn.attention %q over %k, %k along "S" : (!q, !k, !k) -> !q score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %i: index, %j: index):
    %s = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %s : f32
  } bias {
  ^bb0(%s: f32, %i: index, %j: index):
    %dead = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %three = arith.constant 3 : index
    %none = arith.constant 0 : index
    %rest = arith.remsi %j, %three : index
    %isDead = arith.cmpi eq, %rest, %none : index
    %b = arith.select %isDead, %dead, %zero : f32
    %sum = arith.addf %s, %b : f32
    attn.yield %sum : f32
  }
  return %r : !q
}

// A cap makes a finite score of -inf.
// CHECK-LABEL: func.func @capped
// CHECK-NOT: } mask
func.func @capped(%q: !q, %k: !k) -> !q {
  %r = attn.attention %q over %k, %k along "S" : (!q, !k, !k) -> !q score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %i: index, %j: index):
    %s = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %s : f32
  } bias {
  ^bb0(%s: f32, %i: index, %j: index):
    %dead = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %isLate = arith.cmpi sgt, %j, %i : index
    %b = arith.select %isLate, %dead, %zero : f32
    %sum = arith.addf %s, %b : f32
    attn.yield %sum : f32
  } cap {
  ^bb0(%s: f32):
    %c = math.tanh %s : f32
    attn.yield %c : f32
  }
  return %r : !q
}
