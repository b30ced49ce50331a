// RUN: attn-opt %s -attn-plan-memory -canonicalize -cse -attn-check-memory | FileCheck %s

!table = tensor<9x8xf32, #attn.axes<"P", "D">>
!x = tensor<?x8xf32, #attn.axes<"T", "D">>
!ids = tensor<?xi64, #attn.axes<"T">>
!flags = tensor<?x3xi1, #attn.axes<"T", "N">>

attn.dim @T dyn 5
attn.param @wpe : !table from #attn.source<"wpe.weight", [9, 8], offset = 0, strides = [8, 1]>

// Constants that are the same are one; of a table by position, the beginning is read.
// CHECK: memref.global "private" constant @[[POS:.*]] : memref<40xf32>
// CHECK-NOT: memref<40xf32> =

// The rows of positions in order are the parameter itself: one kernel adds.
// CHECK-LABEL: func.func private @positions(
// CHECK-SAME: memref<f32>)
// CHECK-DAG: attn.address @rows.wpe
// CHECK-DAG: memref.get_global @[[POS]]
// CHECK: attn.map_kernel
// CHECK-NOT: _kernel
func.func @positions() -> !x attributes {attn.entry} {
  %t = attn.table dense<[0, 1, 2, 3, 4]> : tensor<5xi32> : tensor<?xi32, #attn.axes<"T">>
  %w = attn.get @wpe : !table
  %p = attn.lookup %w[%t] : (!table, tensor<?xi32, #attn.axes<"T">>) -> !x
  %s = attn.table dense<0.5> : tensor<5x8xf32> : !x
  %s2 = attn.table dense<0.5> : tensor<5x8xf32> : !x
  %y = attn.map(%p, %s, %s2) : (!x, !x, !x) -> !x {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    attn.yield %1 : f32
  }
  return %y : !x
}

// Integers keep their type, a truth value is a byte, true where it is not 0.
// CHECK-LABEL: func.func private @dtypes(
// CHECK-SAME: memref<i64>, %{{[^ ]*}}: memref<i8>, %{{[^ ]*}}: memref<f32>, %{{[^ ]*}}: memref<i8>)
// CHECK: attn.lookup_kernel {{.*}} memref<?xi64
// CHECK: attn.map_kernel
// CHECK: ^bb0(%[[BYTE:.*]]: i8):
// CHECK: arith.cmpi eq, %[[BYTE]], %{{.*}} : i8
// CHECK: %[[RESULT:.*]] = arith.extui
// CHECK: attn.yield %[[RESULT]] : i8
func.func @dtypes(%ids: !ids, %flags: !flags) -> (!x, !flags) attributes {attn.entry} {
  %w = attn.get @wpe : !table
  %x = attn.lookup %w[%ids] : (!table, !ids) -> !x
  %y = attn.map(%flags) : (!flags) -> !flags {
  ^bb0(%a: i1):
    %true = arith.constant true
    %0 = arith.xori %a, %true : i1
    attn.yield %0 : i1
  }
  return %x, %y : !x, !flags
}
