// RUN: attn-opt %s -attn-merge-kernels | FileCheck %s

// What differs in names and locations alone is one, with the shorter name; another constant, type or order is another function.
// CHECK-NOT: @first
// CHECK: func.func private @same(
// CHECK: func.func private @other(
// CHECK: func.func private @turned(
// CHECK: func.func private @wide(
// CHECK-LABEL: func.func @run(
// CHECK-NEXT: call @same(%arg0, %arg1)
// CHECK-NEXT: call @same(%arg1, %arg0)
// CHECK-NEXT: call @other(
// CHECK-NEXT: call @turned(
// CHECK-NEXT: call @wide(
func.func private @first(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c = arith.constant 1 : index
  %a = memref.load %x[%c] : memref<4xf32>
  memref.store %a, %y[%c] : memref<4xf32>
  return
}
func.func private @same(%from: memref<4xf32>, %to: memref<4xf32>) {
  %place = arith.constant 1 : index
  %element = memref.load %from[%place] : memref<4xf32> loc("elsewhere")
  memref.store %element, %to[%place] : memref<4xf32>
  return
}
func.func private @other(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c = arith.constant 2 : index
  %a = memref.load %x[%c] : memref<4xf32>
  memref.store %a, %y[%c] : memref<4xf32>
  return
}
func.func private @turned(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c = arith.constant 1 : index
  %a = memref.load %y[%c] : memref<4xf32>
  memref.store %a, %x[%c] : memref<4xf32>
  return
}
func.func private @wide(%x: memref<8xf32>, %y: memref<8xf32>) {
  %c = arith.constant 1 : index
  %a = memref.load %x[%c] : memref<8xf32>
  memref.store %a, %y[%c] : memref<8xf32>
  return
}
func.func @run(%x: memref<4xf32>, %y: memref<4xf32>, %u: memref<8xf32>, %v: memref<8xf32>) {
  call @first(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  call @same(%y, %x) : (memref<4xf32>, memref<4xf32>) -> ()
  call @other(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  call @turned(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  call @wide(%u, %v) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
