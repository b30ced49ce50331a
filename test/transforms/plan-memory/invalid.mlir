// RUN: attn-opt %s -attn-plan-memory -verify-diagnostics -split-input-file

!x = tensor<4x8xf32, #attn.axes<"T", "D">>
func.func @weight_is_no_parameter(%x: !x, %w: tensor<8x8xf32, #attn.axes<"E", "D">>) -> tensor<4x8xf32, #attn.axes<"T", "E">> attributes {attn.entry} {
  // expected-error@+1 {{expected weights and biases that are parameters}}
  %y = attn.linear %x, %w contract 1 : (!x, tensor<8x8xf32, #attn.axes<"E", "D">>) -> tensor<4x8xf32, #attn.axes<"T", "E">>
  return %y : tensor<4x8xf32, #attn.axes<"T", "E">>
}
