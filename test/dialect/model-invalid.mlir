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

// -----

// dim_c2
// expected-error@+1 {{expected a cache's positions to be dynamic}}
attn.dim @kv 8 cache

// -----

// state_c1
// expected-error@+1 {{expected an axis 'kv', but got}}
attn.state @s : tensor<?x2xf32, #attn.axes<"T", "E">> in @kv layers 1

// -----

// state_c2
// expected-error@+1 {{expected at least 1 layer, but got 0}}
attn.state @s : tensor<?x2xf32, #attn.axes<"kv", "E">> in @kv layers 0

// -----

func.func @push_c1(%x: tensor<1x2xf32, #attn.axes<"T", "E">>) -> tensor<?x2xf32, #attn.axes<"kv", "E">> {
  // expected-error@+1 {{expected a state, but got @s}}
  %r = attn.push %x into @s : tensor<1x2xf32, #attn.axes<"T", "E">> -> tensor<?x2xf32, #attn.axes<"kv", "E">>
  return %r : tensor<?x2xf32, #attn.axes<"kv", "E">>
}

// -----

attn.state @s : tensor<?x2xf32, #attn.axes<"kv", "E">> in @kv layers 1
func.func @push_c2(%x: tensor<1x2xf32, #attn.axes<"T", "E">>) -> tensor<?x3xf32, #attn.axes<"kv", "E">> {
  // expected-error@+1 {{expected the state's shape}}
  %r = attn.push %x into @s : tensor<1x2xf32, #attn.axes<"T", "E">> -> tensor<?x3xf32, #attn.axes<"kv", "E">>
  return %r : tensor<?x3xf32, #attn.axes<"kv", "E">>
}

// -----

attn.state @s : tensor<?x2xf32, #attn.axes<"kv", "E">> in @kv layers 1
func.func @push_c3(%x: tensor<1x3xf32, #attn.axes<"T", "E">>) -> tensor<?x2xf32, #attn.axes<"kv", "E">> {
  // expected-error@+1 {{expected rows of}}
  %r = attn.push %x into @s : tensor<1x3xf32, #attn.axes<"T", "E">> -> tensor<?x2xf32, #attn.axes<"kv", "E">>
  return %r : tensor<?x2xf32, #attn.axes<"kv", "E">>
}

// -----

attn.dim @D 8
func.func @size_c1() -> index {
  // expected-error@+1 {{expected a dynamic dim, but got @D}}
  %r = attn.size @D
  return %r : index
}
