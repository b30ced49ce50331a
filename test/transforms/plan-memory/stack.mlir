// RUN: attn-opt %s -attn-plan-memory -attn-check-memory -canonicalize -cse | FileCheck %s

!x = tensor<?x4x8xf32, #attn.axes<"B", "T", "D">>
!g = tensor<8xf32, #attn.axes<"D">>
attn.dim @B dyn 4
attn.param @g : !g from <"h.{n}.g", [8], offset = 0, strides = [1]> layers 3
attn.param @b : !g from <"h.{n}.b", [8], offset = 0, strides = [1]> layers 3

// The slots of a layer stand together, 64 bytes each; the layers 128 bytes apart.
// CHECK-DAG: attn.slot @rows.g [@g] k 1 columns 8 width 0 bytes 32 layers 3 at 0 + 128
// CHECK-DAG: attn.slot @rows.b [@b] k 1 columns 8 width 0 bytes 32 layers 3 at 64 + 128

// Layers go back and forth between two buffers; the first reads the argument.
// CHECK-LABEL: func.func private @run(
// CHECK: scf.for %[[N:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[IN:.*]] = %arg6, %[[OUT:.*]] = %[[ONE:.*]], %[[SPARE:.*]] = %[[TWO:.*]]) -> (memref<f32>, memref<f32>, memref<f32>)
// CHECK: func.call @Block({{.*}}, %[[N]], %[[IN]], %[[OUT]])
// CHECK: scf.yield %[[OUT]], %[[SPARE]], %[[OUT]]
// CHECK: attn.map_kernel
func.func @run(%x: !x) -> !x attributes {attn.entry} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %layers = arith.constant 3 : index
  %y = scf.for %n = %zero to %layers step %one iter_args(%a = %x) -> (!x) {
    %z = func.call @Block(%n, %a) : (index, !x) -> !x
    scf.yield %z : !x
  }
  return %y : !x
}
// Two buffers of 128 bytes per picture, each rounded up to whole cache lines.
// CHECK-LABEL: func.func private @workspace.run
// CHECK-DAG: arith.constant 256
// CHECK-DAG: arith.constant 126

// CHECK-LABEL: func.func private @Block(
// CHECK: attn.address @rows.g[%[[LAYER:.*]]] in
// CHECK: attn.norm_kernel
func.func private @Block(%n: index, %x: !x) -> !x {
  %g = attn.get @g[%n] : !g
  %b = attn.get @b[%n] : !g
  %y = attn.norm %x <layer, eps = 1.0e-6> over 1 weight %g bias %b : !x weight !g bias !g
  return %y : !x
}
