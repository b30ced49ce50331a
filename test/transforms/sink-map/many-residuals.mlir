// RUN: attn-opt %s -attn-sink-map -canonicalize -cse | FileCheck %s

!x = tensor<4x8xf32, #attn.axes<"T", "D">>
!row = tensor<8xf32, #attn.axes<"D">>
!w = tensor<8x8xf32, #attn.axes<"D", "D'">>

// A slice passes any number of residuals, up to the input.
// CHECK-LABEL: @residuals
// CHECK-SAME: %[[X:[^ ]*]]: tensor<4x8xf32
// CHECK: attn.slice %[[X]] axis 0 at 3 drop : {{.*}}
// CHECK-NOT: tensor<4x8xf32
// CHECK: return
func.func @residuals(%x0: !x, %w: !w) -> !row {
  %f0 = attn.linear %x0, %w contract 1 : (!x, !w) -> !x
  %x1 = attn.map(%x0, %f0) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f1 = attn.linear %x1, %w contract 1 : (!x, !w) -> !x
  %x2 = attn.map(%x1, %f1) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f2 = attn.linear %x2, %w contract 1 : (!x, !w) -> !x
  %x3 = attn.map(%x2, %f2) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f3 = attn.linear %x3, %w contract 1 : (!x, !w) -> !x
  %x4 = attn.map(%x3, %f3) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f4 = attn.linear %x4, %w contract 1 : (!x, !w) -> !x
  %x5 = attn.map(%x4, %f4) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f5 = attn.linear %x5, %w contract 1 : (!x, !w) -> !x
  %x6 = attn.map(%x5, %f5) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f6 = attn.linear %x6, %w contract 1 : (!x, !w) -> !x
  %x7 = attn.map(%x6, %f6) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f7 = attn.linear %x7, %w contract 1 : (!x, !w) -> !x
  %x8 = attn.map(%x7, %f7) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f8 = attn.linear %x8, %w contract 1 : (!x, !w) -> !x
  %x9 = attn.map(%x8, %f8) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f9 = attn.linear %x9, %w contract 1 : (!x, !w) -> !x
  %x10 = attn.map(%x9, %f9) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f10 = attn.linear %x10, %w contract 1 : (!x, !w) -> !x
  %x11 = attn.map(%x10, %f10) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f11 = attn.linear %x11, %w contract 1 : (!x, !w) -> !x
  %x12 = attn.map(%x11, %f11) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f12 = attn.linear %x12, %w contract 1 : (!x, !w) -> !x
  %x13 = attn.map(%x12, %f12) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %f13 = attn.linear %x13, %w contract 1 : (!x, !w) -> !x
  %x14 = attn.map(%x13, %f13) : (!x, !x) -> !x {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    attn.yield %s : f32
  }
  %row = attn.slice %x14 axis 0 at 3 drop : !x -> !row
  return %row : !row
}
