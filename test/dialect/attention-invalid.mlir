// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One case per constraint of attn.attention and attn.dot in dialect/README.md.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @attention_c1(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // expected-error@+1 {{expected key axis "T" in key and value and not in query}}
  %r = attn.attention %q over %k, %v along "T" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @attention_c2(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x9xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // expected-error@+1 {{expected query and key to end in one feature axis}}
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x9xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @attention_c3(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x6x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // expected-error@+1 {{expected as many keys as values, but got 5 and 6}}
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x6x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @attention_c4(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x7x5x8xf32, #attn.axes<"B", "X", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // expected-error@+1 {{expected batch axes of the query, but got "X"}}
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x7x5x8xf32, #attn.axes<"B", "X", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @attention_c4_size(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x7x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // expected-error@+1 {{expected batch axes of the query, but got "H"}}
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x7x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @attention_c5(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">> {
  // expected-error@+1 {{expected the query's axes with value's features, but got}}
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  }
  return %r : tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>
}

// -----

func.func @attention_c6(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // expected-error@+1 {{expected a score that yields 'f32'}}
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    attn.yield %a : tensor<8xf32>
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @attention_c6_arguments(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // expected-error@+1 {{expected a score of 6 arguments, but got 1}}
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>):
    %0 = attn.dot %a, %a : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @attention_c6_type(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // expected-error@+1 {{expected a score whose argument 1 is 'tensor<8xf32>', but got 'tensor<9xf32>'}}
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<9xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %a : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @attention_c7(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // expected-error@+1 {{expected a bias of 5 arguments, but got 1}}
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  } bias {
  ^bb0(%s: f32):
    attn.yield %s : f32
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @attention_c8(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // expected-error@+1 {{expected a mask that yields 'i1'}}
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    attn.yield %j : index
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @attention_c9(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  // expected-error@+1 {{expected a sink that yields 'f32'}}
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  } sink {
  ^bb0(%b: index, %h: index, %i: index):
    attn.yield %i : index
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @dot_c1(%q: tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, %k: tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, %v: tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> {
  %r = attn.attention %q over %k, %v along "S" : (tensor<?x2x4x8xf32, #attn.axes<"B", "H", "T", "E">>, tensor<?x2x5x8xf32, #attn.axes<"B", "H", "S", "E">>, tensor<?x2x5x3xf32, #attn.axes<"B", "H", "S", "F">>) -> tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index, %p3: index):
    %z = arith.constant dense<0.0> : tensor<7xf32>
    // expected-error@+1 {{expected vectors of one size, but got}}
    %0 = attn.dot %a, %z : tensor<8xf32>, tensor<7xf32>
    attn.yield %0 : f32
  }
  return %r : tensor<?x2x4x3xf32, #attn.axes<"B", "H", "T", "F">>
}

// -----

func.func @attention_c4_axis_twice(%q: tensor<4x4x8xf32, #attn.axes<"T", "T", "E">>, %k: tensor<5x8xf32, #attn.axes<"S", "E">>) -> tensor<4x4x8xf32, #attn.axes<"T", "T", "E">> {
  // expected-error@+1 {{expected every axis once, but got}}
  %r = attn.attention %q over %k, %k along "S" : (tensor<4x4x8xf32, #attn.axes<"T", "T", "E">>, tensor<5x8xf32, #attn.axes<"S", "E">>, tensor<5x8xf32, #attn.axes<"S", "E">>) -> tensor<4x4x8xf32, #attn.axes<"T", "T", "E">> score {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %p0: index, %p1: index, %p2: index):
    %0 = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
    attn.yield %0 : f32
  }
  return %r : tensor<4x4x8xf32, #attn.axes<"T", "T", "E">>
}
