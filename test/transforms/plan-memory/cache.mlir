// RUN: attn-opt %s -attn-plan-memory -attn-check-memory -canonicalize -cse | FileCheck %s

!new = tensor<?x2x8xf32, #attn.axes<"B", "T", "E">>
!kept = tensor<?x?x8xf32, #attn.axes<"B", "kv", "E">>

attn.dim @B dyn 4
attn.dim @kv dyn 50 cache
attn.state @key : !kept in @kv layers 3
attn.state @value : !kept in @kv layers 3

// Values lie behind the keys of 3 layers, of B * 50 * 8 elements each; the new rows are the last 2.
// CHECK-LABEL: func.func private @push(
// CHECK-SAME: %[[PACKED:[^,]*]]: memref<i8>, %{{[^,]*}}: memref<i8>, %[[CALL:[^,]*]]: memref<i8>, %{{[^,]*}}: index, %{{[^,]*}}: index, %[[B:[^,]*]]: index, %[[KV:[^,]*]]: index, %[[LAYER:[^,]*]]: index
// CHECK-DAG: %[[LAYERS:.*]] = arith.muli %[[B]], %c1200
// CHECK-DAG: %[[OWN:.*]] = arith.muli %[[B]], %c400
// CHECK-DAG: %[[BEFORE:.*]] = arith.muli %[[LAYER]], %[[OWN]]
// CHECK: %[[PLACE:.*]] = arith.addi %[[LAYERS]], %[[BEFORE]]
// CHECK: attn.cache_place @kv[%[[PLACE]]] in %[[CALL]] : memref<i8> -> memref<f32>
// CHECK: attn.map_kernel
// CHECK: attn.barrier
func.func private @push(%layer: index, %x: !new) -> !kept {
  %r = attn.push %x into @value[%layer] : !new -> !kept
  return %r : !kept
}
