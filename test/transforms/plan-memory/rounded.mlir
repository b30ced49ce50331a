// Where all CPU levels multiply pairs of bf16, what only linears read is computed in bf16; others round it in a kernel of its own.
//
// RUN: attn-opt %s "--attn-plan-memory=precision=bf16 targets=avx512bf16" | FileCheck %s --check-prefix=KEPT
// RUN: attn-opt %s "--attn-plan-memory=precision=bf16 targets=x86-64-v4,avx512bf16" | FileCheck %s --check-prefix=ROUND
// RUN: attn-opt %s "--attn-plan-memory=precision=int8 targets=avx512bf16" | FileCheck %s --check-prefix=INT8
// RUN: attn-opt %s "--attn-plan-memory=precision=int8 targets=x86-64-v4,avx512bf16" | FileCheck %s --check-prefix=BYTES

module attributes {attn.model = "m"} {
  attn.dim @B dyn 8
  attn.param @w : tensor<64x32xf32, #attn.axes<"F", "D">> from #attn.source<"w", [64, 32], offset = 0, strides = [32, 1]>
  attn.param @v : tensor<32x64xf32, #attn.axes<"D", "F">> from #attn.source<"v", [32, 64], offset = 0, strides = [64, 1]>
  attn.param @g : tensor<32xf32, #attn.axes<"D">> from #attn.source<"g", [32], offset = 0, strides = [1]>

  // Normed rows, and those between the linears: an odd number of cache lines each, and 15 rows more. The residual, which is added to as well, is rounded.
  // KEPT-LABEL: func.func private @entry(
  // KEPT: attn.round_kernel {{.*}} : memref<?x32xf32{{.*}}, memref<?x32xi16
  // KEPT: attn.linear_kernel %{{.*}}, %{{.*}} rounded {{.*}} into %[[ROWS:.*]] contract 1 in bf16 : memref<?x32xf32{{.*}} into memref<?x64xi16, strided<[96, 1]>>
  // KEPT-NOT: round_kernel
  // KEPT: attn.linear_kernel {{.*}} scratch {{.*}} contract 1 in bf16 in_place : memref<?x64xi16, strided<[96, 1]>>, {{.*}} into memref<?x32xf32
  // KEPT: attn.norm_kernel {{.*}} into memref<?x32xi16, strided<[32, 1]>>
  // KEPT-NOT: round_kernel
  // KEPT: attn.linear_kernel {{.*}} contract 1 in bf16 : memref<?x32xi16, strided<[32, 1]>>
  // ROUND-COUNT-3: attn.round_kernel
  // Bytes are made of bf16 there, else of f32.
  // INT8: attn.quantize_kernel {{.*}} : memref<?x32xf32
  // INT8: attn.linear_kernel {{.*}} into memref<?x64xi16, strided<[96, 1]>>
  // INT8: attn.quantize_kernel {{.*}} : memref<?x64xi16, strided<[96, 1]>>
  // Normed rows become bytes in the same kernel, one by one; each thread has a row, and 2112 bytes behind it.
  // INT8: attn.norm_bytes_kernel {{.*}} scratch memref<?x1088xi16, strided<[1088, 1]>> into memref<?x64xi8
  // INT8-NOT: quantize_kernel
  // INT8: attn.linear_kernel
  // BYTES-NOT: xi16
  // BYTES: attn.norm_bytes_kernel {{.*}} scratch memref<?x560xf32, strided<[560, 1]>> into memref<?x64xi8
  // BYTES-NOT: xi16
  func.func @entry(%x: tensor<?x32xf32, #attn.axes<"B", "D">> {attn.name = "x"})
      -> (tensor<?x64xf32, #attn.axes<"B", "F">> {attn.name = "y"}) attributes {attn.entry} {
    %w = attn.get @w : tensor<64x32xf32, #attn.axes<"F", "D">>
    %v = attn.get @v : tensor<32x64xf32, #attn.axes<"D", "F">>
    %g = attn.get @g : tensor<32xf32, #attn.axes<"D">>
    %h = attn.linear %x, %w contract 1 : (tensor<?x32xf32, #attn.axes<"B", "D">>, tensor<64x32xf32, #attn.axes<"F", "D">>) -> tensor<?x64xf32, #attn.axes<"B", "F">>
    %z = attn.linear %h, %v contract 1 captures(%x) epilogue {
    ^bb0(%s: f32, %r: f32):
      %sum = arith.addf %s, %r : f32
      attn.yield %sum : f32
    } : (tensor<?x64xf32, #attn.axes<"B", "F">>, tensor<32x64xf32, #attn.axes<"D", "F">>, tensor<?x32xf32, #attn.axes<"B", "D">>) -> tensor<?x32xf32, #attn.axes<"B", "D">>
    %y = attn.linear %z, %w norm <layer, eps = 1.0e-6> norm_weight %g norm_bias %g contract 1 : (tensor<?x32xf32, #attn.axes<"B", "D">>, tensor<64x32xf32, #attn.axes<"F", "D">>, tensor<32xf32, #attn.axes<"D">>, tensor<32xf32, #attn.axes<"D">>) -> tensor<?x64xf32, #attn.axes<"B", "F">>
    return %y : tensor<?x64xf32, #attn.axes<"B", "F">>
  }
}
