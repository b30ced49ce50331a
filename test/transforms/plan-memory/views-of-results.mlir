// RUN: attn-opt %s -attn-plan-memory -attn-check-memory -canonicalize -cse | FileCheck %s

!x = tensor<16x8xf32, #attn.axes<"T", "D">>
!first = tensor<14x8xf32, #attn.axes<"S", "D">>

// The first rows of %a, which are a view of it, are read by %c: its place is not free for %c, nor for %b.
// CHECK-LABEL: func.func private @first_rows(
// CHECK-SAME: %{{[^ ]*}}: memref<f32>, %[[OUT:[^ ]*]]: memref<f32>, %{{[^ ]*}}: memref<f32>)
// CHECK: %[[A:.*]] = memref.view %{{.*}}[%c0]
// CHECK: attn.map_kernel
// CHECK: %[[B:.*]] = memref.view %{{.*}}[%c512]
// CHECK: attn.map_kernel
// CHECK: %[[AROWS:.*]] = memref.reinterpret_cast %[[A]] to offset: [0], sizes: [14, 8]
// CHECK: %[[BROWS:.*]] = memref.reinterpret_cast %[[B]] to offset: [0], sizes: [14, 8]
// CHECK: %[[OUTROWS:.*]] = memref.reinterpret_cast %[[OUT]] to
// CHECK: attn.map_kernel(%[[AROWS]], %[[BROWS]]) into %[[OUTROWS]]
func.func @first_rows(%x: !x) -> (!first, !first) attributes {attn.entry} {
  %a = attn.map(%x) : (!x) -> !x {
  ^bb0(%e: f32):
    %r = arith.negf %e : f32
    attn.yield %r : f32
  }
  %rows = attn.table dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]> : tensor<14xi32> : tensor<14xi32, #attn.axes<"S">>
  %first = attn.lookup %a[%rows] : (!x, tensor<14xi32, #attn.axes<"S">>) -> !first
  %b = attn.map(%x) : (!x) -> !x {
  ^bb0(%e: f32):
    %r = arith.addf %e, %e : f32
    attn.yield %r : f32
  }
  %other = attn.lookup %b[%rows] : (!x, tensor<14xi32, #attn.axes<"S">>) -> !first
  %c = attn.map(%first, %other) : (!first, !first) -> !first {
  ^bb0(%e: f32, %f: f32):
    %r = arith.mulf %e, %f : f32
    attn.yield %r : f32
  }
  return %c, %c : !first, !first
}
