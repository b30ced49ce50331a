// RUN: attn-opt %s -split-input-file -verify-diagnostics

// One case per constraint of attn.reduce and attn.softmax in dialect/README.md.

func.func @reduce_c1_not_reduced(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) {
  // expected-error@+1 {{expected axes of inputs that the result lacks, but got "B"}}
  %r = attn.reduce sum(%x) over ["B"] : (tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<?x4xf32, #attn.axes<"B", "T">>
  return
}

// -----

func.func @reduce_c1_nothing(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) {
  // expected-error@+1 {{expected an input, and an axis to reduce}}
  %r = attn.reduce sum(%x) over [] : (tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<?x4xf32, #attn.axes<"B", "T">>
  return
}

// -----

func.func @reduce_c1_twice(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) {
  // expected-error@+1 {{expected axes of inputs that the result lacks, but got "T"}}
  %r = attn.reduce sum(%x) over ["T", "T"] : (tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<?xf32, #attn.axes<"B">>
  return
}

// -----

func.func @reduce_c2_axis_lost(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) {
  // expected-error@+1 {{expected an axis of the result}}
  %r = attn.reduce sum(%x) over ["T"] : (tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<f32, #attn.axes<>>
  return
}

// -----

func.func @reduce_c2_sizes(%x: tensor<?x4xf32, #attn.axes<"B", "T">>, %y: tensor<5xf32, #attn.axes<"T">>) {
  // expected-error@+1 {{expected one size of axis "T"}}
  %r = attn.reduce sum(%x, %y) over ["T"] : (tensor<?x4xf32, #attn.axes<"B", "T">>, tensor<5xf32, #attn.axes<"T">>) -> tensor<?xf32, #attn.axes<"B">> {
  ^bb0(%a: f32, %b: f32):
    attn.yield %a : f32
  }
  return
}

// -----

func.func @reduce_c3_place(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) {
  // expected-error@+1 {{expected a result of i32}}
  %r = attn.reduce argmax(%x) over ["T"] : (tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<?xf32, #attn.axes<"B">>
  return
}

// -----

func.func @reduce_c3_two_places(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) {
  // expected-error@+1 {{expected one axis to find a place on, but got 2}}
  %r = attn.reduce argmax(%x) over ["B", "T"] : (tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<i32, #attn.axes<>>
  return
}

// -----

func.func @reduce_c4_integers(%x: tensor<4xi32, #attn.axes<"T">>) {
  // expected-error@+1 {{expected inputs of f32}}
  %r = attn.reduce sum(%x) over ["T"] : (tensor<4xi32, #attn.axes<"T">>) -> tensor<f32, #attn.axes<>>
  return
}

// -----

func.func @reduce_c4_no_body(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) {
  // expected-error@+1 {{expected one input where there is no body, but got 2}}
  %r = attn.reduce sum(%x, %x) over ["T"] : (tensor<?x4xf32, #attn.axes<"B", "T">>, tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<?xf32, #attn.axes<"B">>
  return
}

// -----

func.func @reduce_c4_body(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) {
  // expected-error@+1 {{expected a body (f32 of each input...) -> f32}}
  %r = attn.reduce sum(%x) over ["T"] : (tensor<?x4xf32, #attn.axes<"B", "T">>) -> tensor<?xf32, #attn.axes<"B">> {
  ^bb0(%a: f32, %b: f32):
    attn.yield %a : f32
  }
  return
}

// -----

func.func @softmax_c1(%x: tensor<?x4xf32, #attn.axes<"B", "T">>) {
  // expected-error@+1 {{expected an axis of}}
  %r = attn.softmax %x axis 2 : tensor<?x4xf32, #attn.axes<"B", "T">>
  return
}

// -----

func.func @softmax_c2(%x: tensor<4xi32, #attn.axes<"T">>) {
  // expected-error@+1 {{expected elements of f32}}
  %r = attn.softmax %x axis 0 : tensor<4xi32, #attn.axes<"T">>
  return
}
