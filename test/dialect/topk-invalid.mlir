// RUN: attn-opt %s -split-input-file -verify-diagnostics

// One case per constraint of attn.topk in dialect/README.md.

func.func @topk_c1_dynamic(%x: tensor<?x8xf32, #attn.axes<"B", "X">>) {
  // expected-error@+1 {{expected a static axis of}}
  %r = attn.topk %x axis 0 : tensor<?x8xf32, #attn.axes<"B", "X">> -> tensor<2x8xi32, #attn.axes<"K", "X">>
  return
}

// -----

func.func @topk_c1_beyond(%x: tensor<?x8xf32, #attn.axes<"B", "X">>) {
  // expected-error@+1 {{expected a static axis of}}
  %r = attn.topk %x axis 2 : tensor<?x8xf32, #attn.axes<"B", "X">> -> tensor<?x2xi32, #attn.axes<"B", "K">>
  return
}

// -----

func.func @topk_c2_integers(%x: tensor<?x8xi32, #attn.axes<"B", "X">>) {
  // expected-error@+1 {{expected elements of f32 and places of i32}}
  %r = attn.topk %x axis 1 : tensor<?x8xi32, #attn.axes<"B", "X">> -> tensor<?x2xi32, #attn.axes<"B", "K">>
  return
}

// -----

func.func @topk_c2_floats(%x: tensor<?x8xf32, #attn.axes<"B", "X">>) {
  // expected-error@+1 {{expected elements of f32 and places of i32}}
  %r = attn.topk %x axis 1 : tensor<?x8xf32, #attn.axes<"B", "X">> -> tensor<?x2xf32, #attn.axes<"B", "K">>
  return
}

// -----

func.func @topk_c3_more_than_there_are(%x: tensor<?x8xf32, #attn.axes<"B", "X">>) {
  // expected-error@+1 {{expected the input's axes, with at most as many choices in the place of "X"}}
  %r = attn.topk %x axis 1 : tensor<?x8xf32, #attn.axes<"B", "X">> -> tensor<?x9xi32, #attn.axes<"B", "K">>
  return
}

// -----

func.func @topk_c3_other_axis(%x: tensor<?x8xf32, #attn.axes<"B", "X">>) {
  // expected-error@+1 {{expected the input's axes, with at most as many choices in the place of "X"}}
  %r = attn.topk %x axis 1 : tensor<?x8xf32, #attn.axes<"B", "X">> -> tensor<?x2xi32, #attn.axes<"T", "K">>
  return
}
