// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears take the positions of all rows; pushes and attention are done row by row, with the views
// that they read. What other entries call stays as it is.
// RUN: attn-opt %s -attn-rows-apart | FileCheck %s

!x = tensor<?x?x8xf32, #attn.axes<"B", "T", "D">>
!keys = tensor<?x?x8xf32, #attn.axes<"B", "S:kv", "D">>
!w = tensor<8x8xf32, #attn.axes<"E", "D">>

attn.dim @B dyn 4
attn.dim @kv dyn 16 cache
attn.dim @T dyn 16
attn.param @w : !w from <"w", [8, 8], offset = 0, strides = [8, 1]>
attn.state @key : tensor<?x?x8xf32, #attn.axes<"B", "kv", "D">> in @kv layers 1
attn.state @value : tensor<?x?x8xf32, #attn.axes<"B", "kv", "D">> in @kv layers 1

// CHECK-LABEL: func.func private @layer(
// CHECK: attn.linear {{.*}} -> tensor<?x?x8xf32
// CHECK: attn.push
func.func private @layer(%x: !x) -> !x {
  %w = attn.get @w : !w
  %y = attn.linear %x, %w contract 1 : (!x, !w) -> tensor<?x?x8xf32, #attn.axes<"B", "T", "E">>
  %q = attn.relabel %y : tensor<?x?x8xf32, #attn.axes<"B", "T", "E">> -> !x
  %k = attn.push %q into @key : !x -> !keys
  %v = attn.push %x into @value : !x -> !keys
  %a = attn.attention %q over %k, %v along "S:kv" : (!x, !keys, !keys) -> !x score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %r: index, %i: index, %j: index):
    %s = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %s : f32
  }
  %z = attn.linear %a, %w contract 1 : (!x, !w) -> tensor<?x?x8xf32, #attn.axes<"B", "T", "E">>
  %o = attn.relabel %z : tensor<?x?x8xf32, #attn.axes<"B", "T", "E">> -> !x
  return %o : !x
}

// CHECK-LABEL: func.func private @layer.rows.row(
// CHECK-NEXT: attn.relabel
// CHECK: attn.push {{.*}} into @key : tensor<?x?x8xf32
// CHECK: attn.attention
// CHECK-LABEL: func.func private @layer.rows(
// CHECK: attn.linear {{.*}} -> tensor<1x?x8xf32
// CHECK: attn.by_row @layer.rows.row single @layer.rows.row.one({{.*}}) of "B", "T"
// CHECK: attn.linear {{.*}} -> tensor<1x?x8xf32

func.func @whole(%x: !x) -> !x attributes {attn.caches = [{cache = @kv, rows = "T", use = "push"}], attn.entry} {
  %y = call @layer(%x) : (!x) -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: tensor<1x?x8xf32
// CHECK: call @layer.rows(
func.func @step(%x: !x) -> !x attributes {attn.caches = [{cache = @kv, rows = "T", use = "push"}], attn.entry, attn.rows = "B"} {
  %y = call @layer(%x) : (!x) -> !x
  return %y : !x
}

// CHECK-LABEL: func.func private @layer.rows.row.one(
// CHECK: attn.push {{.*}} : tensor<?x1x8xf32
