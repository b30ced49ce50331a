// RUN: attn-opt %s --split-input-file --verify-diagnostics
!x = tensor<3x8xf32, #attn.axes<"T", "D">>
!floats = tensor<3x2xf32, #attn.axes<"T", "A">>
!places = tensor<3x2xi32, #attn.axes<"T", "A">>
!rows = tensor<?x8xf32, #attn.axes<"R", "D">>
func.func @route_c1(%x: !x, %places: !floats, %weights: !floats) -> !x {
  // expected-error @+1 {{expected places of integers [rows..., choices], but got}}
  %y = attn.route %x to %places by %weights of 4 : (!x, !floats, !floats) -> !x {
  ^bb0(%n: index, %rows: !rows):
    attn.routed %rows : !rows
  }
  return %y : !x
}

// -----

!x = tensor<3x8xf32, #attn.axes<"T", "D">>
!weights = tensor<3x8xf32, #attn.axes<"T", "D">>
!places = tensor<3x2xi32, #attn.axes<"T", "A">>
!rows = tensor<?x8xf32, #attn.axes<"R", "D">>
func.func @route_c2(%x: !x, %places: !places, %weights: !weights) -> !x {
  // expected-error @+1 {{expected a weight of each place of}}
  %y = attn.route %x to %places by %weights of 4 : (!x, !places, !weights) -> !x {
  ^bb0(%n: index, %rows: !rows):
    attn.routed %rows : !rows
  }
  return %y : !x
}

// -----

!x = tensor<5x8xf32, #attn.axes<"S", "D">>
!floats = tensor<3x2xf32, #attn.axes<"T", "A">>
!places = tensor<3x2xi32, #attn.axes<"T", "A">>
!rows = tensor<?x8xf32, #attn.axes<"R", "D">>
func.func @route_c3(%x: !x, %places: !places, %weights: !floats) -> !x {
  // expected-error @+1 {{expected rows of f32 with the axes of}}
  %y = attn.route %x to %places by %weights of 4 : (!x, !places, !floats) -> !x {
  ^bb0(%n: index, %rows: !rows):
    attn.routed %rows : !rows
  }
  return %y : !x
}

// -----

!x = tensor<3x8xf32, #attn.axes<"T", "D">>
!floats = tensor<3x2xf32, #attn.axes<"T", "A">>
!places = tensor<3x2xi32, #attn.axes<"T", "A">>
!rows = tensor<?x8xf32, #attn.axes<"R", "D">>
func.func @route_c4(%x: !x, %places: !places, %weights: !floats) -> !x {
  // expected-error @+1 {{expected at least 1 expert, but got 0}}
  %y = attn.route %x to %places by %weights of 0 : (!x, !places, !floats) -> !x {
  ^bb0(%n: index, %rows: !rows):
    attn.routed %rows : !rows
  }
  return %y : !x
}

// -----

!x = tensor<3x8xf32, #attn.axes<"T", "D">>
!floats = tensor<3x2xf32, #attn.axes<"T", "A">>
!places = tensor<3x2xi32, #attn.axes<"T", "A">>
!rows = tensor<3x8xf32, #attn.axes<"T", "D">>
func.func @route_c5(%x: !x, %places: !places, %weights: !floats) -> !x {
  // expected-error @+1 {{expected a body of an expert's number and its rows [rows, features]}}
  %y = attn.route %x to %places by %weights of 4 : (!x, !places, !floats) -> !x {
  ^bb0(%n: index, %rows: !rows):
    attn.routed %rows : !rows
  }
  return %y : !x
}

// -----

!x = tensor<3x8xf32, #attn.axes<"T", "D">>
!y = tensor<3x9xf32, #attn.axes<"T", "F">>
!floats = tensor<3x2xf32, #attn.axes<"T", "A">>
!places = tensor<3x2xi32, #attn.axes<"T", "A">>
!rows = tensor<?x8xf32, #attn.axes<"R", "D">>
func.func @route_c6(%x: !x, %places: !places, %weights: !floats) -> !y {
  // expected-error @+1 {{expected a body that ends with attn.routed of rows of}}
  %y = attn.route %x to %places by %weights of 4 : (!x, !places, !floats) -> !y {
  ^bb0(%n: index, %rows: !rows):
    attn.routed %rows : !rows
  }
  return %y : !y
}

// -----

func.func @group_kernel_c1(%places: memref<6x2xi32>, %firsts: memref<3xi32>, %counts: memref<4xi32>, %tokens: memref<12xi32>, %slots: memref<12xi32>) {
  // expected-error @+1 {{expected a first place and a count of each expert}}
  attn.group_kernel %places firsts %firsts counts %counts tokens %tokens slots %slots
      : memref<6x2xi32>, memref<3xi32>, memref<4xi32>, memref<12xi32>, memref<12xi32>
  return
}

// -----

func.func @group_kernel_c2(%places: memref<6xi32>, %firsts: memref<4xi32>, %counts: memref<4xi32>, %tokens: memref<12xi32>, %slots: memref<12xi32>) {
  // expected-error @+1 {{expected places [rows..., choices], and a token and a slot for each}}
  attn.group_kernel %places firsts %firsts counts %counts tokens %tokens slots %slots
      : memref<6xi32>, memref<4xi32>, memref<4xi32>, memref<12xi32>, memref<12xi32>
  return
}
