// RUN: attn-opt %s -attn-plan-memory -attn-check-memory -canonicalize -cse | FileCheck %s

!x = tensor<?x4x8xf32, #attn.axes<"B", "T", "D">>
!c = tensor<1x8xf32, #attn.axes<"1", "D">>
!c1 = tensor<?x1x8xf32, #attn.axes<"B", "1", "D">>
!y = tensor<?x5x8xf32, #attn.axes<"B", "N", "D">>
attn.dim @B dyn 4
attn.param @cls : !c from <"cls", [1, 8], offset = 0, strides = [8, 1]>

// Both parts are computed straight into the entry's result: rows 40 = 5 * 8 apart, the second one 8 further.
// CHECK-LABEL: func.func private @tokens(
// CHECK-SAME: %[[PACKED:[a-z0-9]+]]: memref<i8>, %{{.*}}: memref<i8>, %[[CALL:[a-z0-9]+]]: memref<i8>, %[[T:[a-z0-9]+]]: index, %{{.*}}: index, %[[B:[a-z0-9]+]]: index, %[[X:[a-z0-9]+]]: memref<f32>, %[[Y:[a-z0-9]+]]: memref<f32>) attributes {attn.entry}
// CHECK: attn.address @rows.cls in %[[PACKED]]
// CHECK: %[[FIRST:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [%[[B]], 8], strides: [40, 1]
// CHECK: attn.map_kernel{{.*}} into %[[FIRST]]
// CHECK: attn.barrier %[[CALL]], %[[T]]
// CHECK: %[[REST:.*]] = memref.reinterpret_cast %[[Y]] to offset: [8], sizes: [%[[B]], 4, 8], strides: [40, 8, 1]
// CHECK: attn.map_kernel{{.*}} into %[[REST]]
// CHECK: attn.barrier
// CHECK-NEXT: return
func.func @tokens(%x: !x) -> !y attributes {attn.entry} {
  %c = attn.get @cls : !c
  %first = attn.map(%c) : (!c) -> !c1 {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    attn.yield %b : f32
  }
  %rest = attn.map(%x) : (!x) -> !x {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    attn.yield %b : f32
  }
  %y = attn.concat(%first, %rest) axis 1 along [1, 1] : (!c1, !x) -> !y
  return %y : !y
}
// No workspace is needed.
// CHECK-LABEL: func.func private @workspace.tokens(%{{.*}}: index, %{{.*}}: index) -> index
// CHECK: %[[ZERO:.*]] = arith.constant 0
// CHECK: return %[[ZERO]]

// Parts that stand already are copied, a parameter repeated over the batch (stride 0).
// CHECK-LABEL: func.func private @copied
// CHECK: %[[CLS:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%[[B:.*]], 8], strides: [0, 1]
// CHECK: attn.map_kernel(%[[CLS]])
// CHECK: attn.map_kernel
// CHECK-NOT: attn.map_kernel
func.func @copied(%x: !x) -> !y attributes {attn.entry} {
  %c = attn.get @cls : !c
  %y = attn.concat(%c, %x) axis 1 along [0, 1] : (!c, !x) -> !y
  return %y : !y
}
