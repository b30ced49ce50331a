// RUN: attn-opt %s -attn-check-kernels --remarks-filter-missed=.* -split-input-file -verify-diagnostics

func.func @libm(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %a = math.sqrt %x : vector<8xf32>
  // expected-error @below {{kernels stage: 'math.atan2' would become a call of libm}}
  %b = math.atan2 %a, %y : vector<8xf32>
  // expected-error @below {{kernels stage: 'arith.remf' would become a call of libm}}
  %c = arith.remf %a, %b : vector<8xf32>
  return %c : vector<8xf32>
}

// -----

func.func @division(%x: vector<8xi32>, %y: vector<8xi32>, %i: index, %j: index) -> vector<8xi32> {
  %k = arith.divui %i, %j : index
  %three = arith.constant dense<3> : vector<8xi32>
  %s = arith.remsi %x, %three : vector<8xi32>
  // expected-remark @below {{runs element by element: vectors have no integer division}}
  %r = arith.divsi %x, %y : vector<8xi32>
  return %r : vector<8xi32>
}

// -----

func.func @tile(%x: memref<8xf32>, %out: memref<8xf32>) {
  // expected-error @below {{kernels stage: 'attn.norm_row' is left}}
  attn.norm_row %x weight %x bias %x into %out <layer, eps = 1.0e-5> : memref<8xf32> weight memref<8xf32> bias memref<8xf32> into memref<8xf32>
  return
}
