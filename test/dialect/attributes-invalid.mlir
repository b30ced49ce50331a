// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the dialect on ops of others: unknown names, wrong types and wrong places (dialect/Attributes.def).
// RUN: attn-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{has "attn.modle", which is no attribute of a module; did you mean `attn.model`?}}
module attributes {attn.modle = "tiny"} {}

// -----

// expected-error@+1 {{has "attn.model" = 3 : i64, expected StringAttr}}
module attributes {attn.model = 3} {}

// -----

// expected-error@+1 {{has "attn.entry", which is no attribute of a module}}
module attributes {attn.entry} {}

// -----

// expected-error@+1 {{has "attn.enrty", which is no attribute of a function; did you mean `attn.entry`?}}
func.func private @f() attributes {attn.enrty}

// -----

// expected-error@+1 {{has "attn.below" = "3", expected IntegerAttr}}
func.func private @f(i32 {attn.below = "3"})

// -----

// expected-error@+1 {{has "attn.tap", which is no attribute of an argument}}
func.func private @f(i32 {attn.tap})

// -----

// expected-error@+1 {{has "attn.image", which is no attribute of a result}}
func.func private @f() -> (i32 {attn.image = {}})

// -----

func.func @f() {
  // expected-error@+1 {{has "attn.name", which is no attribute of an op}}
  %0 = "arith.constant"() {value = 1 : i32, attn.name = "x"} : () -> i32
  return
}
