// RUN: attn-opt %s -split-input-file -verify-diagnostics

// One case per constraint of attn.pad and attn.windows in dialect/README.md.

func.func @pad_c1(%x: tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>) {
  // expected-error@+1 {{expected a border and an axis of the result for each of}}
  %r = attn.pad %x by [0], [0] with 0.0 : tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">> -> tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>
  return
}

// -----

func.func @pad_c2(%x: tensor<4xi32, #attn.axes<"T">>) {
  // expected-error@+1 {{expected elements of f32}}
  %r = attn.pad %x by [0], [0] with 0.0 : tensor<4xi32, #attn.axes<"T">> -> tensor<4xi32, #attn.axes<"T">>
  return
}

// -----

func.func @pad_c3(%x: tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>) {
  // expected-error@+1 {{expected borders of 0 elements at least, but got -1 and 1}}
  %r = attn.pad %x by [0, -1, 0], [0, 1, 0] with 0.0 : tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">> -> tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>
  return
}

// -----

func.func @pad_c4(%x: tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>) {
  // expected-error@+1 {{expected axis 1 to be longer by its border}}
  %r = attn.pad %x by [0, 1, 0], [0, 1, 0] with 0.0 : tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">> -> tensor<?x10x4xf32, #attn.axes<"B", "Z", "C">>
  return
}

// -----

func.func @pad_c4_dynamic(%x: tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>) {
  // expected-error@+1 {{expected axis 0 to be longer by its border}}
  %r = attn.pad %x by [1, 0, 0], [0, 0, 0] with 0.0 : tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">> -> tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>
  return
}

// -----

func.func @windows_c1(%x: tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>) {
  // expected-error@+1 {{expected a stride, a dilation and an axis of the result for each of 1 axes}}
  %r = attn.windows %x axes [1] by [1] dilated [1] : tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">> -> tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>
  return
}

// -----

func.func @windows_c2(%x: tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>) {
  // expected-error@+1 {{expected every axis once, but got 1}}
  %r = attn.windows %x axes [1, 1] by [1, 1] dilated [1, 1] : tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">> -> tensor<?x7x4x3x3xf32, #attn.axes<"B", "Z", "C", "P", "Q">>
  return
}

// -----

func.func @windows_c3(%x: tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>) {
  // expected-error@+1 {{expected the other axes unchanged}}
  %r = attn.windows %x axes [1] by [1] dilated [1] : tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">> -> tensor<?x7x5x3xf32, #attn.axes<"B", "Z", "D", "P">>
  return
}

// -----

func.func @windows_c4(%x: tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>) {
  // expected-error@+1 {{expected static windows, strides and dilations of 1 at least}}
  %r = attn.windows %x axes [1] by [0] dilated [1] : tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">> -> tensor<?x7x4x3xf32, #attn.axes<"B", "Z", "C", "P">>
  return
}

// -----

func.func @windows_c5(%x: tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">>) {
  // expected-error@+1 {{expected as many windows as fit into axis 1}}
  %r = attn.windows %x axes [1] by [2] dilated [1] : tensor<?x9x4xf32, #attn.axes<"B", "Y", "C">> -> tensor<?x5x4x3xf32, #attn.axes<"B", "Z", "C", "P">>
  return
}
