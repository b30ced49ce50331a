// RUN: attn-opt %s | attn-opt | FileCheck %s

!kept = tensor<?x?x8xf32, #attn.axes<"B", "kv", "E">>
!named = tensor<?x?x8xf32, #attn.axes<"B", "S:kv", "E">>

attn.dim @B dyn 4
attn.dim @kv dyn 50 cache
attn.state @layers : !kept in @kv layers 3
attn.state @once : !kept in @kv layers 1

// CHECK-LABEL: @read
// CHECK: attn.kept @layers[%arg0] : tensor<?x?x8xf32, #attn.axes<"B", "S:kv", "E">>
// CHECK: attn.kept @once : tensor<?x?x8xf32, #attn.axes<"B", "kv", "E">>
func.func @read(%layer: index) -> (!named, !kept) {
  %a = attn.kept @layers[%layer] : !named
  %b = attn.kept @once : !kept
  return %a, %b : !named, !kept
}

// CHECK-LABEL: @place
// CHECK: attn.cache_place @kv[%arg0] in %arg1 : memref<i8> -> memref<f32>
func.func @place(%at: index, %call: memref<i8>) -> memref<f32> {
  %p = attn.cache_place @kv[%at] in %call : memref<i8> -> memref<f32>
  return %p : memref<f32>
}
