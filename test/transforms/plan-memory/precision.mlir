// Weights of linears as bf16, int8 and int4, in groups or not: rows become bytes in a kernel before the products. What is no matrix stays f32.
//
// RUN: attn-opt %s --attn-plan-memory=precision=bf16 | FileCheck %s --check-prefix=BF16
// RUN: attn-opt %s "--attn-plan-memory=precision=bf16 targets=x86-64-v4,avx512bf16" | FileCheck %s --check-prefix=ROUND
// RUN: attn-opt %s --attn-plan-memory=precision=int8 | FileCheck %s --check-prefix=INT8
// RUN: attn-opt %s --attn-plan-memory=precision=int4 | FileCheck %s --check-prefix=INT4
// RUN: attn-opt %s --attn-plan-memory=precision=int4_groups | FileCheck %s --check-prefix=INT4-GROUPS
// RUN: attn-opt %s --attn-plan-memory=precision=int8_groups | FileCheck %s --check-prefix=GROUPS
// RUN: not attn-opt %s --attn-plan-memory=precision=f8 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: unknown precision 'f8'

// Panels of 6 -> 5: 48 columns of 16 groups of two; of 16 groups of four, 48 scales and 48 sums; of 4 groups of eight, with small scales.
// BF16: attn.slot @panels.w [@w] k 6 columns 5 width 48 in bf16 bytes 3072
// BF16: attn.slot @rows.b [@b] k 1 columns 5 width 0 bytes 20
// INT8: attn.slot @panels.w [@w] k 6 columns 5 width 48 in int8 bytes 3456
// INT4: attn.slot @panels.w [@w] k 6 columns 5 width 48 in int4 bytes 1536
// INT4-GROUPS: attn.slot @panels.w [@w] k 6 columns 5 width 48 in int4_groups bytes 1440
// GROUPS: attn.slot @panels.w [@w] k 6 columns 5 width 48 in int8_groups bytes 2208
module attributes {attn.model = "m"} {
  attn.dim @B dyn 8
  attn.param @w : tensor<5x6xf32, #attn.axes<"O", "D">> from #attn.source<"w", [5, 6], offset = 0, strides = [6, 1]>
  attn.param @b : tensor<5xf32, #attn.axes<"O">> from #attn.source<"b", [5], offset = 0, strides = [1]>
  attn.param @odd : tensor<3x5xf32, #attn.axes<"P", "O">> from #attn.source<"odd", [3, 5], offset = 0, strides = [5, 1]>

  // BF16-LABEL: func.func private @entry(
  // BF16-NOT: attn.round_kernel
  // BF16: attn.linear_kernel {{.*}} contract 1 in bf16 : memref<?x6xf32{{.*}}memref<1536xi16
  // Weights of bf16 are multiplied by pairs: an odd number of inputs keeps f32.
  // BF16: attn.linear_kernel {{.*}}memref<?x5xf32{{.*}}memref<240xf32

  // ROUND: attn.round_kernel {{.*}} : memref<?x6xf32{{.*}}, memref<?x32xi16
  // ROUND: attn.barrier
  // ROUND: attn.linear_kernel {{.*}} rounded {{.*}} rounded memref<?x6xi16, strided<[32, 1]>>
  // ROUND: attn.linear_kernel {{.*}}memref<240xf32

  // INT8-LABEL: func.func private @entry(
  // INT8: attn.quantize_kernel %{{.*}} into %{{.*}} range %[[RANGE:.*]] : memref<?x6xf32{{.*}}, memref<?x64xi8{{.*}}, memref<?x2xf32
  // INT8: attn.barrier
  // INT8: attn.linear_kernel {{.*}} quantized(%[[RANGE]], {{.*}} contract 1 in int8 : memref<?x8xi8{{.*}}memref<3072xi8
  // INT8: attn.quantize_kernel

  // GROUPS: attn.linear_kernel {{.*}} contract 1 in int8_groups : memref<?x32xi8{{.*}}memref<1536xi8{{.*}} quantized(memref<?x2xf32{{.*}}, memref<48xf16{{.*}}, memref<48xf32{{.*}}, memref<48xf32{{.*}}, memref<48xi32{{.*}}
  // INT4-GROUPS: attn.linear_kernel {{.*}} contract 1 in int4_groups : memref<?x32xi8{{.*}}memref<768xi8{{.*}} quantized(memref<?x2xf32{{.*}}, memref<48xf16{{.*}}, memref<48xf32{{.*}}, memref<48xf32{{.*}}, memref<48xi32
  // INT4: attn.linear_kernel {{.*}} contract 1 in int4 : memref<?x32xi8{{.*}}memref<768xi8{{.*}} quantized(memref<?x3xf32{{.*}}, memref<96xf16{{.*}}, memref<48xf32{{.*}}, memref<48xf32{{.*}}, memref<48xi32
  func.func @entry(%x: tensor<?x6xf32, #attn.axes<"B", "D">> {attn.name = "x"})
      -> (tensor<?x3xf32, #attn.axes<"B", "P">> {attn.name = "y"}) attributes {attn.entry} {
    %w = attn.get @w : tensor<5x6xf32, #attn.axes<"O", "D">>
    %b = attn.get @b : tensor<5xf32, #attn.axes<"O">>
    %odd = attn.get @odd : tensor<3x5xf32, #attn.axes<"P", "O">>
    %h = attn.linear %x, %w bias %b contract 1 : (tensor<?x6xf32, #attn.axes<"B", "D">>, tensor<5x6xf32, #attn.axes<"O", "D">>, tensor<5xf32, #attn.axes<"O">>) -> tensor<?x5xf32, #attn.axes<"B", "O">>
    %y = attn.linear %h, %odd contract 1 : (tensor<?x5xf32, #attn.axes<"B", "O">>, tensor<3x5xf32, #attn.axes<"P", "O">>) -> tensor<?x3xf32, #attn.axes<"B", "P">>
    return %y : tensor<?x3xf32, #attn.axes<"B", "P">>
  }
}
