// RUN: attn-opt %s -attn-sink-map | FileCheck %s

!patches = tensor<?x4x8xf32, #attn.axes<"B", "Y*X", "D">>
!cls = tensor<1x8xf32, #attn.axes<"1", "D">>
!pos = tensor<5x8xf32, #attn.axes<"N", "D">>
!tokens = tensor<?x5x8xf32, #attn.axes<"B", "N", "D">>
!d = tensor<8xf32, #attn.axes<"D">>
!first = tensor<?x8xf32, #attn.axes<"B", "D">>

// Positions are added before the parts are put together, where they can end in the projection's epilogue.
// CHECK-LABEL: @tokens
func.func @tokens(%cls: !cls, %patches: !patches, %pos: !pos) -> !tokens {
  // CHECK: attn.slice %arg2 axis 0 at 0
  // CHECK: %[[A:.*]] = attn.map(%arg0, %{{.*}}) {{.*}} -> tensor<?x1x8xf32, #attn.axes<"B", "1", "D">>
  // CHECK: attn.slice %arg2 axis 0 at 1
  // CHECK: %[[P:.*]] = attn.map(%arg1, %{{.*}}) {{.*}} -> tensor<?x4x8xf32, #attn.axes<"B", "Y*X", "D">>
  // CHECK: attn.concat(%[[A]], %[[P]]) axis 1 along [1, 1]
  %t = attn.concat(%cls, %patches) axis 1 along [0, 1] : (!cls, !patches) -> !tokens
  %s = attn.map(%t, %pos) : (!tokens, !pos) -> !tokens {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    attn.yield %c : f32
  }
  return %s : !tokens
}

// Only the class token is normed.
// CHECK-LABEL: @class_token
func.func @class_token(%x: !tokens, %g: !d, %b: !d) -> !first {
  // CHECK: %[[S:.*]] = attn.slice %arg0 axis 1 at 0 drop
  // CHECK: attn.norm %[[S]]
  %n = attn.norm %x <layer, eps = 1.0e-6> over 1 weight %g bias %b : !tokens weight !d bias !d
  %f = attn.slice %n axis 1 at 0 drop : !tokens -> !first
  return %f : !first
}
