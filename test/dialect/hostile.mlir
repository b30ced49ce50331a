// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules no front end writes: ranks too low, encodings missing or strange, attributes beyond any sense. Each is refused by
// a message, never by a crash.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @no_encoding(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{must be tensor with #attn.axes, but got 'tensor<2x3xf32>'}}
  %r = "attn.relabel"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @encoding_of_another_kind(%x: tensor<2x3xf32, "axes">) {
  // expected-error@+1 {{must be tensor with #attn.axes}}
  %r = "attn.relabel"(%x) : (tensor<2x3xf32, "axes">) -> tensor<2x3xf32, "axes">
  return
}

// -----

func.func @fewer_names_than_axes(%x: tensor<2x3xf32, #attn.axes<"A">>) {
  // expected-error@+1 {{must be tensor with #attn.axes}}
  %r = "attn.relabel"(%x) : (tensor<2x3xf32, #attn.axes<"A">>) -> tensor<2x3xf32, #attn.axes<"A">>
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>) {
  // expected-error@+1 {{must be tensor with #attn.axes}}
  %r = "attn.softmax"(%x) <{axis = 0 : i64}> : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @element_of_no_model(%x: tensor<2xcomplex<f32>, #attn.axes<"A">>) {
  // expected-error@+1 {{must be tensor with #attn.axes}}
  %r = attn.relabel %x : tensor<2xcomplex<f32>, #attn.axes<"A">> -> tensor<2xcomplex<f32>, #attn.axes<"B">>
  return
}

// -----

func.func @dynamic_axis_without_a_size(%x: tensor<?xf32, #attn.axes<"2 * 3">>) {
  // expected-error@+1 {{must be tensor with #attn.axes}}
  %r = attn.relabel %x : tensor<?xf32, #attn.axes<"2 * 3">> -> tensor<?xf32, #attn.axes<"B">>
  return
}

// -----

func.func @dynamic_axis_with_an_absurd_scale(%x: tensor<?xf32, #attn.axes<"99999999999999999999*B">>) {
  // expected-error@+1 {{must be tensor with #attn.axes}}
  %r = attn.relabel %x : tensor<?xf32, #attn.axes<"99999999999999999999*B">> -> tensor<?xf32, #attn.axes<"B">>
  return
}

// -----

func.func @more_elements_than_any_memory(%x: tensor<4294967296x4294967296xf32, #attn.axes<"A", "B">>) {
  // expected-error@+1 {{must be tensor with #attn.axes}}
  %r = attn.relabel %x : tensor<4294967296x4294967296xf32, #attn.axes<"A", "B">> -> tensor<4294967296x4294967296xf32, #attn.axes<"A", "C">>
  return
}

// -----

func.func @scalar_in_every_place(%x: tensor<f32, #attn.axes<>>) {
  // expected-error@+1 {{expected to contract 1 to 0 axes, but got 1}}
  %r = attn.linear %x, %x contract 1 : (tensor<f32, #attn.axes<>>, tensor<f32, #attn.axes<>>) -> tensor<f32, #attn.axes<>>
  return
}

// -----

func.func @scalar_norm(%x: tensor<f32, #attn.axes<>>) {
  // expected-error@+1 {{expected to be over 1 to 0 last axes}}
  %r = attn.norm %x <layer, eps = 0.0> over 1 weight %x bias %x : tensor<f32, #attn.axes<>> weight tensor<f32, #attn.axes<>> bias tensor<f32, #attn.axes<>>
  return
}

// -----

func.func @scalar_attention(%x: tensor<f32, #attn.axes<>>) {
  // expected-error@+1 {{expected key axis "S" in key and value and not in query}}
  %r = attn.attention %x over %x, %x along "S" : (tensor<f32, #attn.axes<>>, tensor<f32, #attn.axes<>>, tensor<f32, #attn.axes<>>) -> tensor<f32, #attn.axes<>> score {
  ^bb0(%a: f32, %b: f32):
    attn.yield %a : f32
  }
  return
}

// -----

func.func @scalar_slice(%x: tensor<f32, #attn.axes<>>) {
  // expected-error@+1 {{expected an axis}}
  %r = attn.slice %x axis 0 at 0 drop : tensor<f32, #attn.axes<>> -> tensor<f32, #attn.axes<>>
  return
}

// -----

func.func @scalar_concat(%x: tensor<f32, #attn.axes<>>) {
  // expected-error@+1 {{expected an axis below 0, but got 0}}
  %r = attn.concat(%x) axis 0 along [0] : (tensor<f32, #attn.axes<>>) -> tensor<f32, #attn.axes<>>
  return
}

// -----

func.func @contract_beyond_int32(%x: tensor<3xf32, #attn.axes<"D">>) {
  // expected-error@+1 {{expected to contract 1 to 1 axes, but got -9223372036854775808}}
  %r = attn.linear %x, %x contract -9223372036854775808 : (tensor<3xf32, #attn.axes<"D">>, tensor<3xf32, #attn.axes<"D">>) -> tensor<f32, #attn.axes<>>
  return
}

// -----

func.func @offset_that_wraps_around(%x: tensor<4xf32, #attn.axes<"D">>) {
  // expected-error@+1 {{expected elements within 4, but got 2 at 9223372036854775807}}
  %r = attn.slice %x axis 0 at 9223372036854775807 : tensor<4xf32, #attn.axes<"D">> -> tensor<2xf32, #attn.axes<"D">>
  return
}

// -----

func.func @softmax_of_axis_minus_one(%x: tensor<4xf32, #attn.axes<"D">>) {
  // expected-error@+1 {{expected an axis of}}
  %r = attn.softmax %x axis -1 : tensor<4xf32, #attn.axes<"D">>
  return
}

// -----

func.func @windows_of_axis_nine(%x: tensor<4xf32, #attn.axes<"D">>) {
  // expected-error@+1 {{expected axes of}}
  %r = attn.windows %x axes [9] by [1] dilated [1] : tensor<4xf32, #attn.axes<"D">> -> tensor<4x1xf32, #attn.axes<"D", "K">>
  return
}

// -----

func.func @span_of_windows_that_wraps_around(%x: tensor<4xf32, #attn.axes<"D">>) {
  // expected-error@+1 {{expected static windows, strides and dilations of 1 at least}}
  %r = attn.windows %x axes [0] by [1] dilated [9223372036854775807] : tensor<4xf32, #attn.axes<"D">> -> tensor<4x3xf32, #attn.axes<"D", "K">>
  return
}

// -----

func.func @atoms_that_wrap_around(%x: tensor<4xf32, #attn.axes<"D">>) {
  // 2^63 * 2 + 4 wraps to 4 in 64 bits.
  // expected-error@+1 {{expected atoms that make up the input's}}
  %r = attn.rearrange %x split [2] atoms [4611686018427387905, 4] order [0, 1] merge [2] : tensor<4xf32, #attn.axes<"D">> -> tensor<4xf32, #attn.axes<"E">>
  return
}

// -----

func.func @atom_zero(%x: tensor<?xf32, #attn.axes<"B">>) {
  // expected-error@+1 {{expected atoms of at least 1, or -1 for a dynamic one, but got 0}}
  %r = attn.rearrange %x split [2] atoms [-1, 0] order [0, 1] merge [2] : tensor<?xf32, #attn.axes<"B">> -> tensor<?xf32, #attn.axes<"B">>
  return
}

// -----

func.func @negative_group(%x: tensor<4xf32, #attn.axes<"D">>) {
  // expected-error@+1 {{expected atoms that make up the input's}}
  %r = attn.rearrange %x split [-5] atoms [4] order [0] merge [1] : tensor<4xf32, #attn.axes<"D">> -> tensor<4xf32, #attn.axes<"E">>
  return
}

// -----

func.func @group_without_end(%x: tensor<4xf32, #attn.axes<"D">>) {
  // expected-error@+1 {{expected input groups of 1 atoms, but got more}}
  %r = attn.rearrange %x split [9223372036854775807] atoms [4] order [0] merge [1] : tensor<4xf32, #attn.axes<"D">> -> tensor<4xf32, #attn.axes<"E">>
  return
}

// -----

func.func @eps_is_no_number(%x: tensor<4xf32, #attn.axes<"D">>) {
  // expected-error@+1 {{expected eps of at least 0, but got nan}}
  %r = attn.norm %x <layer, eps = 0x7FF8000000000000 : f64> over 1 weight %x bias %x : tensor<4xf32, #attn.axes<"D">> weight tensor<4xf32, #attn.axes<"D">> bias tensor<4xf32, #attn.axes<"D">>
  return
}

// -----

// stride_that_wraps_around
// expected-error@+1 {{expected elements within the source's 8, but got a stride of 9223372036854775807}}
attn.param @p : tensor<4xf32, #attn.axes<"D">> from #attn.source<"p", [8], offset = 0, strides = [9223372036854775807]>

// -----

// source_that_wraps_around
// expected-error@+1 {{expected a source of 0 to 2^48 elements}}
attn.param @p : tensor<4xf32, #attn.axes<"D">> from #attn.source<"p", [4294967296, 4294967297], offset = 0, strides = [1]>

// -----

// source_of_negative_size
// expected-error@+1 {{expected a source of 0 to 2^48 elements}}
attn.param @p : tensor<4xf32, #attn.axes<"D">> from #attn.source<"p", [-2, -2], offset = 0, strides = [1]>

// -----

// negative_offset
// expected-error@+1 {{expected elements within the source's 4, but got element -3}}
attn.param @p : tensor<4xf32, #attn.axes<"D">> from #attn.source<"p", [4], offset = -3, strides = [1]>

// -----

// param_of_no_tensor
// expected-error@+1 {{type attribute of tensor with #attn.axes}}
"attn.param"() <{source = #attn.source<"p", [4], offset = 0, strides = [1]>, sym_name = "p", type = i32}> : () -> ()

// -----

// dim_beyond_any_memory
// expected-error@+1 {{expected a size of 1 to 2^48, but got -1}}
attn.dim @B dyn -1

// -----

func.func @map_without_a_block(%x: tensor<4xf32, #attn.axes<"D">>) {
  // expected-error@+1 {{region #0 ('body') failed to verify constraint: region with 1 blocks}}
  %r = "attn.map"(%x) ({}) : (tensor<4xf32, #attn.axes<"D">>) -> tensor<4xf32, #attn.axes<"D">>
  return
}

// -----

func.func @map_without_a_yield(%x: tensor<4xf32, #attn.axes<"D">>) {
  // expected-error@+1 {{expects a non-empty block}}
  %r = "attn.map"(%x) ({
  ^bb0(%a: f32):
  }) : (tensor<4xf32, #attn.axes<"D">>) -> tensor<4xf32, #attn.axes<"D">>
  return
}

// -----

func.func @segments_that_do_not_add_up(%x: tensor<4xf32, #attn.axes<"D">>) {
  // expected-error@+1 {{operand count (1) does not match with the total size (7) specified in attribute 'operandSegmentSizes'}}
  %r = "attn.linear"(%x) <{contract = 1 : i64, operandSegmentSizes = array<i32: 1, 2, 2, 1, 0, 1>}> ({}) : (tensor<4xf32, #attn.axes<"D">>) -> tensor<4xf32, #attn.axes<"D">>
  return
}

// -----

func.func @yield_outside_of_a_region(%x: f32) -> f32 {
  // expected-error@+1 {{expects parent op to be one of}}
  attn.yield %x : f32
}

// -----

func.func @dot_of_scalars(%x: tensor<f32>) {
  // expected-error@+1 {{must be 1D tensor of 32-bit float values, but got 'tensor<f32>'}}
  %r = "attn.dot"(%x, %x) : (tensor<f32>, tensor<f32>) -> f32
  return
}
