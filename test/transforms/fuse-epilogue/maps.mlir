// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers and truth values that one map alone reads are computed in it.
// RUN: attn-opt %s -attn-fuse-epilogue | FileCheck %s

!x = tensor<?x8xf32, #attn.axes<"T", "D">>
!m = tensor<?x8xi1, #attn.axes<"T", "D">>
!w = tensor<8x8xf32, #attn.axes<"D", "D'">>

// A choice by what the linear itself gave is in its epilogue.
// CHECK-LABEL: @leaky
// CHECK:         attn.linear %{{.*}} epilogue {
// CHECK-NEXT:    ^bb0(%[[SUM:.*]]: f32):
// CHECK-NEXT:      %[[HOLDS:.*]] = arith.cmpf ogt, %[[SUM]], %{{.*}}
// CHECK-NEXT:      %[[LESS:.*]] = arith.mulf %[[SUM]], %{{.*}}
// CHECK-NEXT:      arith.select %[[HOLDS]], %[[SUM]], %[[LESS]]
// CHECK-NOT:     attn.map
func.func @leaky(%x: !x, %w: !w) -> !x {
  %zero = arith.constant 0.0 : f32
  %slope = arith.constant 0.1 : f32
  %y = attn.linear %x, %w contract 1 : (!x, !w) -> !x
  %m = attn.map(%y) : (!x) -> !m {
  ^bb0(%a: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    attn.yield %c : i1
  }
  %z = attn.map(%m, %y) : (!m, !x) -> !x {
  ^bb0(%c: i1, %a: f32):
    %b = arith.mulf %a, %slope : f32
    %s = arith.select %c, %a, %b : f32
    attn.yield %s : f32
  }
  return %z : !x
}

// What two maps read is computed once.
// CHECK-LABEL: @read_twice
// CHECK-COUNT-3: attn.map
func.func @read_twice(%x: !x) -> (!x, !x) {
  %zero = arith.constant 0.0 : f32
  %m = attn.map(%x) : (!x) -> !m {
  ^bb0(%a: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    attn.yield %c : i1
  }
  %y = attn.map(%m, %x) : (!m, !x) -> !x {
  ^bb0(%c: i1, %a: f32):
    %s = arith.select %c, %a, %zero : f32
    attn.yield %s : f32
  }
  %z = attn.map(%m, %x) : (!m, !x) -> !x {
  ^bb0(%c: i1, %a: f32):
    %s = arith.select %c, %zero, %a : f32
    attn.yield %s : f32
  }
  return %y, %z : !x, !x
}

// A mask of rows is not computed again for each of their elements.
// CHECK-LABEL: @mask_of_rows
// CHECK-COUNT-2: attn.map
func.func @mask_of_rows(%x: !x, %ids: tensor<?xi32, #attn.axes<"T">>) -> !x {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %m = attn.map(%ids) : (tensor<?xi32, #attn.axes<"T">>) -> tensor<?xi1, #attn.axes<"T">> {
  ^bb0(%a: i32):
    %c = arith.cmpi ne, %a, %none : i32
    attn.yield %c : i1
  }
  %y = attn.map(%m, %x) : (tensor<?xi1, #attn.axes<"T">>, !x) -> !x {
  ^bb0(%c: i1, %a: f32):
    %s = arith.select %c, %a, %zero : f32
    attn.yield %s : f32
  }
  return %y : !x
}
