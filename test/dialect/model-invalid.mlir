// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.dim, attn.param and attn.get in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

// dim_c1
// expected-error@+1 {{expected a size of 1 to 2^48, but got 0}}
attn.dim @B dyn 0

// -----

// param_c1
// expected-error@+1 {{expected a static shape, but got}}
attn.param @p : tensor<?xf32, #attn.axes<"B">> from #attn.source<"p", [2], offset = 0, strides = [1]>

// -----

// param_c2
// expected-error@+1 {{expected 1 strides, but got 2}}
attn.param @p : tensor<2xf32, #attn.axes<"D">> from #attn.source<"p", [2], offset = 0, strides = [1, 1]>

// -----

// param_c3
// expected-error@+1 {{expected elements within the source's 2, but got element 2}}
attn.param @p : tensor<2xf32, #attn.axes<"D">> from #attn.source<"p", [2], offset = 1, strides = [1]>

// -----

// param_c3_before_the_first
// expected-error@+1 {{expected elements within the source's 4, but got element -1}}
attn.param @p : tensor<2xf32, #attn.axes<"D">> from #attn.source<"p", [4], offset = 0, strides = [-1]>

// -----

// param_c4
// expected-error@+1 {{expected 'layers' exactly where the source's name has {n}}}
attn.param @p : tensor<2xf32, #attn.axes<"D">> from #attn.source<"p.{n}", [2], offset = 0, strides = [1]>

// -----

// param_c4_without_pattern
// expected-error@+1 {{expected 'layers' exactly where the source's name has {n}}}
attn.param @p : tensor<2xf32, #attn.axes<"D">> from #attn.source<"p", [2], offset = 0, strides = [1]> layers 2

// -----

func.func @get_c1() -> tensor<2xf32, #attn.axes<"D">> {
  // expected-error@+1 {{expected a parameter, but got @p}}
  %r = attn.get @p : tensor<2xf32, #attn.axes<"D">>
  return %r : tensor<2xf32, #attn.axes<"D">>
}

// -----

attn.param @p : tensor<3xf32, #attn.axes<"D">> from #attn.source<"p", [3], offset = 0, strides = [1]>
func.func @get_c2() -> tensor<2xf32, #attn.axes<"D">> {
  // expected-error@+1 {{expected the parameter's type}}
  %r = attn.get @p : tensor<2xf32, #attn.axes<"D">>
  return %r : tensor<2xf32, #attn.axes<"D">>
}

// -----

attn.param @p : tensor<2xf32, #attn.axes<"D">> from #attn.source<"p.{n}", [2], offset = 0, strides = [1]> layers 2
func.func @get_c3() -> tensor<2xf32, #attn.axes<"D">> {
  // expected-error@+1 {{expected a layer exactly where the parameter belongs to a stack}}
  %r = attn.get @p : tensor<2xf32, #attn.axes<"D">>
  return %r : tensor<2xf32, #attn.axes<"D">>
}

// -----

// param_c5
// expected-error@+1 {{expected at least 1 layer, but got 0}}
attn.param @p : tensor<2xf32, #attn.axes<"D">> from #attn.source<"p.{n}", [2], offset = 0, strides = [1]> layers 0
