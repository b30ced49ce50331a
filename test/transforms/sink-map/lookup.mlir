// RUN: attn-opt %s -attn-sink-map -canonicalize -cse | FileCheck %s

!ids = tensor<2x4xi32, #attn.axes<"B", "T">>
!table = tensor<9x8xf32, #attn.axes<"V", "D">>
!x = tensor<2x4x8xf32, #attn.axes<"B", "T", "D">>
!row = tensor<2x8xf32, #attn.axes<"B", "D">>
!angles = tensor<4x4xf32, #attn.axes<"T", "D/2">>

// Of the last token, one row is looked up, and turned by its own angles.
// CHECK-LABEL: @last
// CHECK: %[[ID:.*]] = attn.slice %arg0 axis 1 at 3 drop
// CHECK: %[[X:.*]] = attn.lookup %arg1[%[[ID]]]
// CHECK: %[[ANGLE:.*]] = attn.slice %arg2 axis 0 at 3 drop
// CHECK: attn.rotary %[[X]] by %[[ANGLE]], %[[ANGLE]] : tensor<2x8xf32
func.func @last(%ids: !ids, %table: !table, %angles: !angles) -> !row {
  %x = attn.lookup %table[%ids] : (!table, !ids) -> !x
  %y = attn.rotary %x by %angles, %angles : !x, !angles
  %row = attn.slice %y axis 1 at 3 drop : !x -> !row
  return %row : !row
}

// Pairs of features stay together.
// CHECK-LABEL: @features
// CHECK: attn.rotary %arg0
// CHECK: attn.slice
func.func @features(%x: !x, %angles: !angles) -> tensor<2x4xf32, #attn.axes<"B", "T">> {
  %y = attn.rotary %x by %angles, %angles : !x, !angles
  %c = attn.slice %y axis 2 at 3 drop : !x -> tensor<2x4xf32, #attn.axes<"B", "T">>
  return %c : tensor<2x4xf32, #attn.axes<"B", "T">>
}
