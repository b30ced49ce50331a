// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is rolled is computed where it lies in the end, by parts, where each element is computed once.
// RUN: attn-opt %s -attn-sink-map | FileCheck %s

!x = tensor<6x8xf32, #attn.axes<"Y", "D">>
!low = tensor<2x8xf32, #attn.axes<"Y'", "D">>
!high = tensor<4x8xf32, #attn.axes<"Y'", "D">>

// CHECK-LABEL: @norm
// CHECK:         %[[X0:.*]] = attn.slice %arg0 axis 0 at 0
// CHECK:         %[[LOW:.*]] = attn.norm %[[X0]] {{.*}} : tensor<2x8xf32
// CHECK:         %[[X2:.*]] = attn.slice %arg0 axis 0 at 2
// CHECK:         %[[HIGH:.*]] = attn.norm %[[X2]] {{.*}} : tensor<4x8xf32
// CHECK:         attn.concat(%[[HIGH]], %[[LOW]])
func.func @norm(%x: !x) -> !x {
  %n = attn.norm %x <rms, eps = 1.0e-5> over 1 : !x
  %high = attn.slice %n axis 0 at 2 : !x -> !high
  %low = attn.slice %n axis 0 at 0 : !x -> !low
  %y = attn.concat(%high, %low) axis 0 along [0, 0] : (!high, !low) -> !x
  return %y : !x
}

// Elements that are read twice are computed once.
// CHECK-LABEL: @overlap
// CHECK:         %[[N:.*]] = attn.norm %arg0
// CHECK:         attn.slice %[[N]] axis 0 at 1
func.func @overlap(%x: !x) -> !x {
  %n = attn.norm %x <rms, eps = 1.0e-5> over 1 : !x
  %high = attn.slice %n axis 0 at 1 : !x -> !high
  %low = attn.slice %n axis 0 at 0 : !x -> !low
  %y = attn.concat(%high, %low) axis 0 along [0, 0] : (!high, !low) -> !x
  return %y : !x
}

// Views cost nothing, so one kernel is enough.
// CHECK-LABEL: @unpacked
// CHECK:         %[[N:.*]] = attn.norm %arg0
// CHECK-DAG:     attn.slice %[[N]] axis 0 at 2
// CHECK-DAG:     attn.slice %[[N]] axis 0 at 0
func.func @unpacked(%x: !x) -> (!high, !low) {
  %n = attn.norm %x <rms, eps = 1.0e-5> over 1 : !x
  %high = attn.slice %n axis 0 at 2 : !x -> !high
  %low = attn.slice %n axis 0 at 0 : !x -> !low
  return %high, %low : !high, !low
}
