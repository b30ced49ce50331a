// RUN: attn-opt %s -attn-plan-memory -attn-check-memory -canonicalize -cse | FileCheck %s

!x = tensor<64x8xf32, #attn.axes<"T", "D">>

// The frame of a callee is a buffer that lives as long as the call. It is the largest, and %p, which is dead by then, lies in it; %q, which
// lives beside %p, behind it.
// CHECK-LABEL: func.func private @caller(
// CHECK-SAME: memref<i8>, %[[WORKSPACE:[a-z0-9]+]]: memref<i8>
// CHECK-DAG: %[[BEHIND:.*]] = arith.constant 4224
// CHECK-DAG: %[[FIRST:.*]] = arith.constant 0
// CHECK-DAG: %[[P:.*]] = memref.view %{{.*}}[%[[FIRST]]][] : {{.*}} to memref<f32>
// CHECK-DAG: %[[Q:.*]] = memref.view %{{.*}}[%[[BEHIND]]][] : {{.*}} to memref<f32>
// CHECK-DAG: %[[FRAME:.*]] = memref.view %{{.*}}[%[[FIRST]]][] : {{.*}} to memref<i8>
// CHECK: call @inner(%{{.*}}, %[[FRAME]],
// CHECK-LABEL: func.func private @workspace.caller
// CHECK: arith.constant 6396
func.func @caller(%x: !x) -> (!x, !x) attributes {attn.entry} {
  %p = attn.map(%x) : (!x) -> !x {
  ^bb0(%e: f32):
    %r = arith.negf %e : f32
    attn.yield %r : f32
  }
  %q = attn.map(%p) : (!x) -> !x {
  ^bb0(%e: f32):
    %r = arith.addf %e, %e : f32
    attn.yield %r : f32
  }
  %y = attn.map(%q, %p) : (!x, !x) -> !x {
  ^bb0(%e: f32, %f: f32):
    %r = arith.mulf %e, %f : f32
    attn.yield %r : f32
  }
  %z = func.call @inner(%x) : (!x) -> !x
  return %y, %z : !x, !x
}

// Two buffers of 2048 bytes, each rounded up to whole cache lines.
func.func private @inner(%x: !x) -> !x {
  %p = attn.map(%x) : (!x) -> !x {
  ^bb0(%e: f32):
    %r = arith.negf %e : f32
    attn.yield %r : f32
  }
  %q = attn.map(%p) : (!x) -> !x {
  ^bb0(%e: f32):
    %r = arith.addf %e, %e : f32
    attn.yield %r : f32
  }
  %y = attn.map(%q, %p) : (!x, !x) -> !x {
  ^bb0(%e: f32, %f: f32):
    %r = arith.mulf %e, %f : f32
    attn.yield %r : f32
  }
  return %y : !x
}
