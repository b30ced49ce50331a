// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.unfold in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

// unfold_c1
// expected-error@+1 {{expected two entries, but got first and step}}
attn.unfold @generate from @first then @step token 0 limit 4 settings {stop = array<i64: 1>}

// -----

// unfold_c2
!scores = tensor<4x8xf32, #attn.axes<"B", "V">>
func.func private @first() -> !scores
func.func private @step(!scores {attn.name = "x"}) -> !scores
// expected-error@+1 {{expected an input of integers to take the tokens, but got 0}}
attn.unfold @generate from @first then @step token 0 limit 4 settings {stop = array<i64: 1>}

// -----

// unfold_c3
!scores = tensor<4x8xf32, #attn.axes<"B", "V">>
func.func private @first() -> tensor<4x9xf32, #attn.axes<"B", "W">>
func.func private @step(tensor<4xi32, #attn.axes<"B">> {attn.name = "token"}) -> !scores
// expected-error@+1 {{expected scores of f32 along a vocabulary of known size, of one type}}
attn.unfold @generate from @first then @step token 0 limit 4 settings {stop = array<i64: 1>}

// -----

// unfold_c4
!scores = tensor<4x8xf32, #attn.axes<"B", "V">>
func.func private @first() -> !scores
func.func private @step(tensor<4xi32, #attn.axes<"B">> {attn.name = "token"}) -> !scores
// expected-error@+1 {{expected a limit of at least 1, but got 0}}
attn.unfold @generate from @first then @step token 0 limit 0 settings {stop = array<i64: 1>}

// -----

// unfold_c5
!scores = tensor<4x8xf32, #attn.axes<"B", "V">>
!state = tensor<4x3xf32, #attn.axes<"B", "D">>
func.func private @first() -> (!scores {attn.name = "scores"}, !scores {attn.name = "h"})
func.func private @step(tensor<4xi32, #attn.axes<"B">> {attn.name = "token"}, !state {attn.name = "h"}) -> !scores
// expected-error@+1 {{expected a tensor of 'tensor<4x3xf32, #attn.axes<"B", "D">>' for each step, but got 'tensor<4x8xf32, #attn.axes<"B", "V">>'}}
attn.unfold @generate from @first then @step token 0 limit 4 settings {stop = array<i64: 1>}

// -----

// unfold_c6
func.func private @first(tensor<2x3xf32, #attn.axes<"B", "D">>) -> tensor<2x7xf32, #attn.axes<"B", "V">>
func.func private @step(tensor<2xi32, #attn.axes<"B">>) -> tensor<2x7xf32, #attn.axes<"B", "V">>
// expected-error@+1 {{expected several beams of rows along a dynamic axis}}
attn.unfold @generate from @first then @step token 0 limit 4 settings {beams = 4.0 : f64}

// -----

// unfold_c7
!scores = tensor<4x8xf32, #attn.axes<"B", "V">>
func.func private @first() -> !scores
func.func private @step(tensor<4xi32, #attn.axes<"B">> {attn.name = "token"}) -> !scores
// expected-error@+1 {{expected a setting of generation, but got "top_q"}}
attn.unfold @generate from @first then @step token 0 limit 4 settings {top_q = 0.5 : f64}

// -----

// unfold_c7
!scores = tensor<4x8xf32, #attn.axes<"B", "V">>
func.func private @first() -> !scores
func.func private @step(tensor<4xi32, #attn.axes<"B">> {attn.name = "token"}) -> !scores
// expected-error@+1 {{expected a number from 0.000000e+00 to 1.000000e+00 for "top_p", but got 2.000000e+00 : f64}}
attn.unfold @generate from @first then @step token 0 limit 4 settings {top_p = 2.0 : f64}

// -----

// unfold_c7
!scores = tensor<4x8xf32, #attn.axes<"B", "V">>
func.func private @first() -> !scores
func.func private @step(tensor<4xi32, #attn.axes<"B">> {attn.name = "token"}) -> !scores
// expected-error@+1 {{expected a whole number from 0.000000e+00 to 2.147484e+09 for "no_repeat", but got 5.000000e-01 : f64}}
attn.unfold @generate from @first then @step token 0 limit 4 settings {no_repeat = 0.5 : f64}

// -----

// unfold_c7
!scores = tensor<4x8xf32, #attn.axes<"B", "V">>
func.func private @first() -> !scores
func.func private @step(tensor<4xi32, #attn.axes<"B">> {attn.name = "token"}) -> !scores
// expected-error@+1 {{expected tokens for "stop", but got 1.000000e+00 : f64}}
attn.unfold @generate from @first then @step token 0 limit 4 settings {stop = 1.0 : f64}

// -----

// unfold_c7
!scores = tensor<4x8xf32, #attn.axes<"B", "V">>
func.func private @first() -> !scores
func.func private @step(tensor<4xi32, #attn.axes<"B">> {attn.name = "token"}) -> !scores
// expected-error@+1 {{expected a number from 0.000000e+00 to 1.000000e+00 for "min_p", but got 0x7FF8000000000000 : f64}}
attn.unfold @generate from @first then @step token 0 limit 4 settings {min_p = 0x7FF8000000000000 : f64}

// -----

// unfold_c7
!scores = tensor<4x8xf32, #attn.axes<"B", "V">>
func.func private @first() -> !scores
func.func private @step(tensor<4xi32, #attn.axes<"B">> {attn.name = "token"}) -> !scores
// expected-error@+1 {{expected a number from 0.000000e+00 to 1.000000e+00 for "min_p", but got 1 : i64}}
attn.unfold @generate from @first then @step token 0 limit 4 settings {min_p = 1 : i64}

// -----

// unfold_c8
!scores = tensor<4x8xf32, #attn.axes<"B", "V">>
func.func private @first() -> !scores
func.func private @step(tensor<4xi32, #attn.axes<"B">> {attn.name = "token"}) -> !scores
// expected-error@+1 {{expected an entry whose rows are by themselves, with the scores of step, but got @first}}
attn.unfold @generate from @first then @step shared @first token 0 limit 4 settings {}
