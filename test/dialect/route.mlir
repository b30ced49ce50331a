// RUN: attn-opt %s | attn-opt | FileCheck %s
!rows = tensor<?x8xf32, #attn.axes<"routed_rows", "D">>
!made = tensor<?x12xf32, #attn.axes<"routed_rows", "F">>

attn.dim @B dyn 4

func.func private @Expert(index, !rows) -> !made

// CHECK-LABEL: func.func @routed
// CHECK: attn.route %{{.*}} to %{{.*}} by %{{.*}} of 4 : (tensor<?x3x8xf32, {{.*}}>, tensor<?x3x2xi32, {{.*}}>, tensor<?x3x2xf32, {{.*}}>) -> tensor<?x3x12xf32, {{.*}}>
// CHECK-NEXT: ^bb0(%[[N:.*]]: index, %[[ROWS:.*]]: tensor<?x8xf32, {{.*}}>):
// CHECK-NEXT: func.call @Expert(%[[N]], %[[ROWS]])
// CHECK-NEXT: attn.routed
func.func @routed(%x: tensor<?x3x8xf32, #attn.axes<"B", "T", "D">>, %places: tensor<?x3x2xi32, #attn.axes<"B", "T", "A">>,
                  %weights: tensor<?x3x2xf32, #attn.axes<"B", "T", "A">>) -> tensor<?x3x12xf32, #attn.axes<"B", "T", "F">> {
  %y = attn.route %x to %places by %weights of 4
      : (tensor<?x3x8xf32, #attn.axes<"B", "T", "D">>, tensor<?x3x2xi32, #attn.axes<"B", "T", "A">>, tensor<?x3x2xf32, #attn.axes<"B", "T", "A">>)
      -> tensor<?x3x12xf32, #attn.axes<"B", "T", "F">> {
  ^bb0(%n: index, %rows: !rows):
    %made = func.call @Expert(%n, %rows) : (index, !rows) -> !made
    attn.routed %made : !made
  }
  return %y : tensor<?x3x12xf32, #attn.axes<"B", "T", "F">>
}

// CHECK-LABEL: func.func @grouped
// CHECK: attn.group_kernel %{{.*}} firsts %{{.*}} counts %{{.*}} tokens %{{.*}} slots %{{.*}} :
// CHECK: attn.rows %{{.*}} most %{{.*}} : memref<i32>
func.func @grouped(%places: memref<6x2xi32>, %firsts: memref<4xi32>, %counts: memref<4xi32>, %tokens: memref<12xi32>, %slots: memref<12xi32>,
                   %count: memref<i32>, %most: index) -> index {
  attn.group_kernel %places firsts %firsts counts %counts tokens %tokens slots %slots
      : memref<6x2xi32>, memref<4xi32>, memref<4xi32>, memref<12xi32>, memref<12xi32>
  %rows = attn.rows %count most %most : memref<i32>
  return %rows : index
}
