// RUN: attn-opt %s -attn-plan-memory -attn-check-memory -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,F32
// RUN: attn-opt %s "--attn-plan-memory=precision=bf16 targets=avx512bf16" -attn-check-memory -canonicalize -cse | FileCheck %s --check-prefix=PAIRS
// RUN: attn-opt %s "--attn-plan-memory=precision=bf16 targets=amx" -attn-check-memory -canonicalize -cse | FileCheck %s --check-prefix=TILES
// RUN: attn-opt %s "--attn-plan-memory=precision=int8" -attn-check-memory -canonicalize -cse | FileCheck %s --check-prefix=BYTES
// RUN: attn-opt %s "--attn-plan-memory=precision=int4" -attn-check-memory -canonicalize -cse | FileCheck %s --check-prefix=BYTES

!x = tensor<?x4x8xf32, #attn.axes<"B", "T", "D">>
!c = tensor<1x8xf32, #attn.axes<"1", "D">>
!c1 = tensor<?x1x8xf32, #attn.axes<"B", "1", "D">>
!y = tensor<?x5x8xf32, #attn.axes<"B", "N", "D">>
attn.dim @B dyn 4
attn.param @cls : !c from <"cls", [1, 8], offset = 0, strides = [8, 1]>

// Both parts are computed straight into the entry's result: rows 40 = 5 * 8 apart, the second one 8 further.
// CHECK-LABEL: func.func private @tokens(
// CHECK-SAME: %[[PACKED:[a-z0-9]+]]: memref<i8>, %{{.*}}: memref<i8>, %[[CALL:[a-z0-9]+]]: memref<i8>, %[[T:[a-z0-9]+]]: index, %{{.*}}: index, %[[B:[a-z0-9]+]]: index, %[[X:[a-z0-9]+]]: memref<f32>, %[[Y:[a-z0-9]+]]: memref<f32>) attributes {attn.entry}
// CHECK: attn.address @rows.cls in %[[PACKED]]
// CHECK: %[[FIRST:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [%[[B]], 8], strides: [40, 1]
// CHECK: attn.map_kernel{{.*}} into %[[FIRST]]
// CHECK: attn.barrier %[[CALL]], %[[T]]
// CHECK: %[[REST:.*]] = memref.reinterpret_cast %[[Y]] to offset: [8], sizes: [%[[B]], 4, 8], strides: [40, 8, 1]
// CHECK: attn.map_kernel{{.*}} into %[[REST]]
// CHECK: attn.barrier
// CHECK-NEXT: return
func.func @tokens(%x: !x) -> !y attributes {attn.entry} {
  %c = attn.get @cls : !c
  %first = attn.map(%c) : (!c) -> !c1 {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    attn.yield %b : f32
  }
  %rest = attn.map(%x) : (!x) -> !x {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    attn.yield %b : f32
  }
  %y = attn.concat(%first, %rest) axis 1 along [1, 1] : (!c1, !x) -> !y
  return %y : !y
}
// No workspace is needed.
// CHECK-LABEL: func.func private @workspace.tokens(%{{.*}}: index, %{{.*}}: index) -> index
// CHECK: %[[ZERO:.*]] = arith.constant 0
// CHECK: return %[[ZERO]]

// Parts that stand already are copied, a parameter repeated over the batch (stride 0).
// CHECK-LABEL: func.func private @copied
// CHECK: %[[CLS:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%[[B:.*]], 8], strides: [0, 1]
// CHECK: attn.map_kernel(%[[CLS]])
// CHECK: attn.map_kernel
// CHECK-NOT: attn.map_kernel
func.func @copied(%x: !x) -> !y attributes {attn.entry} {
  %c = attn.get @cls : !c
  %y = attn.concat(%c, %x) axis 1 along [0, 1] : (!c, !x) -> !y
  return %y : !y
}

// A residual stream stays in its place: a block's results are written over what they are added to, in the caller's buffer if it allows that, and the layers of a stack over one another.
!d = tensor<8xf32, #attn.axes<"D">>
!w = tensor<8x8xf32, #attn.axes<"F", "D">>
!long = tensor<8x808xf32, #attn.axes<"D", "K">>
!deep = tensor<?x4x808xf32, #attn.axes<"B", "T", "K">>
attn.param @g : !d from <"g", [8], offset = 0, strides = [1]>
attn.param @w : !w from <"w", [8, 8], offset = 0, strides = [8, 1]>
attn.param @u : tensor<808x8xf32, #attn.axes<"K", "D">> from <"u", [808, 8], offset = 0, strides = [8, 1]>
attn.param @v : !long from <"v", [8, 808], offset = 0, strides = [808, 1]>
attn.param @longer : tensor<8x3208xf32, #attn.axes<"D", "L">> from <"longer", [8, 3208], offset = 0, strides = [3208, 1]>

// CHECK-LABEL: func.func private @block(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<f32>, %[[Y:[a-z0-9]+]]: memref<f32>) {
// CHECK: %[[IN:.*]] = memref.reinterpret_cast %[[X]]
// CHECK: %[[OUT:.*]] = memref.reinterpret_cast %[[Y]]
// CHECK: attn.linear_kernel {{.*}} captures(%[[IN]]) into %[[OUT]] contract 1 in_place
// CHECK: attn.norm_kernel %[[OUT]]
// CHECK: attn.linear_kernel {{.*}} captures(%[[OUT]]) into %[[OUT]] contract 1 in_place
func.func private @block(%x: !x) -> !x {
  %g = attn.get @g : !d
  %w = attn.get @w : !w
  %y = attn.linear %x, %w norm <layer, eps = 1.0e-6> norm_weight %g norm_bias %g contract 1 captures(%x) epilogue {
  ^bb0(%s: f32, %r: f32):
    %sum = arith.addf %s, %r : f32
    attn.yield %sum : f32
  } : (!x, !w, !d, !d, !x) -> !x
  %z = attn.linear %y, %w norm <layer, eps = 1.0e-6> norm_weight %g norm_bias %g contract 1 captures(%y) epilogue {
  ^bb0(%s: f32, %r: f32):
    %sum = arith.addf %s, %r : f32
    attn.yield %sum : f32
  } : (!x, !w, !d, !d, !x) -> !x
  return %z : !x
}

// The entry's argument is the user's: the first layer writes elsewhere. What it makes of it is read twice, and kept from the call after.
// CHECK-LABEL: func.func private @stack(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<f32>, %[[Y:[a-z0-9]+]]: memref<f32>) attributes {attn.entry}
// CHECK: %[[FIRST:.*]] = memref.view {{.*}} to memref<f32>
// CHECK: %[[LAST:.*]] = scf.for {{.*}} iter_args(%[[IN:.*]] = %[[X]]) -> (memref<f32>)
// CHECK: func.call @block({{.*}}, %[[IN]], %[[FIRST]])
// CHECK: scf.yield %[[FIRST]]
// CHECK: %[[SECOND:.*]] = memref.view {{.*}} to memref<f32>
// CHECK: call @block({{.*}}, %[[LAST]], %[[SECOND]])
// CHECK: call @block({{.*}}, %[[SECOND]], %[[SECOND]])
// CHECK: attn.map_kernel
func.func @stack(%x: !x) -> !x attributes {attn.entry} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %layers = arith.constant 3 : index
  %a = scf.for %n = %zero to %layers step %one iter_args(%h = %x) -> (!x) {
    %next = func.call @block(%h) : (!x) -> !x
    scf.yield %next : !x
  }
  %b = func.call @block(%a) : (!x) -> !x
  %c = func.call @block(%b) : (!x) -> !x
  %y = attn.map(%a, %c) : (!x, !x) -> !x {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    attn.yield %r : f32
  }
  return %y : !x
}

// Sums of parts of a long k are in the result's place, which cannot be the residual's.
// In tile registers they are elsewhere. Parts of bytes are four times as long.
// F32-LABEL: func.func private @deep(
// F32: attn.linear_kernel {{.*}} contract 1 : memref<?x808xf32
// PAIRS-LABEL: func.func private @deep(
// PAIRS: attn.linear_kernel {{.*}} contract 1 in bf16 : memref<?x808xf32
// TILES-LABEL: func.func private @deep(
// TILES: attn.linear_kernel {{.*}} contract 1 in bf16 in_place : memref<?x808xf32
// BYTES-LABEL: func.func private @deep(
// BYTES: attn.linear_kernel {{.*}} contract 1 in int{{8|4}} in_place : memref<?x8{{08|32}}xi8
func.func private @deep(%x: !x) -> !x {
  %u = attn.get @u : tensor<808x8xf32, #attn.axes<"K", "D">>
  %v = attn.get @v : !long
  %h = attn.linear %x, %u contract 1 : (!x, tensor<808x8xf32, #attn.axes<"K", "D">>) -> !deep
  %y = attn.linear %h, %v contract 1 captures(%x) epilogue {
  ^bb0(%s: f32, %r: f32):
    %sum = arith.addf %s, %r : f32
    attn.yield %sum : f32
  } : (!deep, !long, !x) -> !x
  return %y : !x
}

// BYTES-LABEL: func.func private @deeper(
// BYTES: attn.linear_kernel {{.*}} contract 1 in int{{8|4}} : memref<?x32{{08|32}}xi8
func.func private @deeper(%h: tensor<?x4x3208xf32, #attn.axes<"B", "T", "L">>, %x: !x) -> !x {
  %v = attn.get @longer : tensor<8x3208xf32, #attn.axes<"D", "L">>
  %y = attn.linear %h, %v contract 1 captures(%x) epilogue {
  ^bb0(%s: f32, %r: f32):
    %sum = arith.addf %s, %r : f32
    attn.yield %sum : f32
  } : (tensor<?x4x3208xf32, #attn.axes<"B", "T", "L">>, tensor<8x3208xf32, #attn.axes<"D", "L">>, !x) -> !x
  return %y : !x
}

// Not over a concat one of whose parts, which lies in it, is read later.
// CHECK-LABEL: func.func private @parts(
// CHECK: attn.linear_kernel {{.*}} contract 1 : memref<?x8xf32
func.func private @parts(%c: !c1, %x: !x, %other: !y) -> (!y, !x) {
  %w = attn.get @w : !w
  %first = attn.map(%c) : (!c1) -> !c1 {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    attn.yield %b : f32
  }
  %rest = attn.map(%x) : (!x) -> !x {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    attn.yield %b : f32
  }
  %y = attn.concat(%first, %rest) axis 1 along [1, 1] : (!c1, !x) -> !y
  %z = attn.linear %other, %w contract 1 captures(%y) epilogue {
  ^bb0(%s: f32, %r: f32):
    %sum = arith.addf %s, %r : f32
    attn.yield %sum : f32
  } : (!y, !w, !y) -> !y
  %again = attn.map(%rest) : (!x) -> !x {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    attn.yield %b : f32
  }
  return %z, %again : !y, !x
}

// What a loop without turns would return is what was carried into it.
// CHECK-LABEL: func.func private @carried(
// CHECK: scf.for
// CHECK: attn.linear_kernel {{.*}} contract 1 : memref<?x8xf32
func.func private @carried(%x: !x, %layers: index) -> (!x, !x) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %w = attn.get @w : !w
  %h = attn.map(%x) : (!x) -> !x {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    attn.yield %b : f32
  }
  %y = scf.for %n = %zero to %layers step %one iter_args(%in = %h) -> (!x) {
    %next = func.call @block(%in) : (!x) -> !x
    scf.yield %next : !x
  }
  %z = attn.linear %x, %w contract 1 captures(%h) epilogue {
  ^bb0(%s: f32, %r: f32):
    %sum = arith.addf %s, %r : f32
    attn.yield %sum : f32
  } : (!x, !w, !x) -> !x
  return %y, %z : !x, !x
}

// Both results of a call may be over its argument, which is one place.
func.func private @twice(%x: !x) -> (!x, !x) {
  %y = func.call @block(%x) : (!x) -> !x
  return %y, %y : !x, !x
}
// CHECK-LABEL: func.func private @calls(
// CHECK: %[[A:.*]] = memref.view {{.*}} to memref<f32>
// CHECK: attn.map_kernel
// CHECK: %[[B:.*]] = memref.view {{.*}} to memref<f32>
// CHECK: call @twice({{.*}}, %[[A]], %[[A]], %[[B]])
// CHECK: call @block({{.*}}, %[[A]], %[[A]])
// CHECK: %[[OTHER:.*]] = memref.reinterpret_cast %[[B]]
// CHECK: attn.map_kernel({{.*}}, %[[OTHER]])
func.func private @calls(%x: !x) -> !x {
  %h = attn.map(%x) : (!x) -> !x {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    attn.yield %b : f32
  }
  %y:2 = func.call @twice(%h) : (!x) -> (!x, !x)
  %z = func.call @block(%y#0) : (!x) -> !x
  %sum = attn.map(%z, %y#1) : (!x, !x) -> !x {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    attn.yield %r : f32
  }
  return %sum : !x
}
