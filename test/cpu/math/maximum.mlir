// RUN: attn-opt %s -attn-expand-math=level=x86-64-v4 | FileCheck %s

// One comparison with a choice is vmaxps, which takes the second where one is NaN.
// CHECK-LABEL: func.func @relu(
// CHECK-SAME: %[[X:.*]]: vector<16xf32>)
// CHECK: %[[ZERO:.*]] = arith.constant dense<0
// CHECK-NEXT: %[[LESS:.*]] = arith.cmpf ogt, %[[ZERO]], %[[X]]
// CHECK-NEXT: %[[R:.*]] = arith.select %[[LESS]], %[[ZERO]], %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @relu(%x: vector<16xf32>) -> vector<16xf32> {
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %r = arith.maximumf %x, %zero : vector<16xf32>
  return %r : vector<16xf32>
}

// CHECK-LABEL: func.func @both_may_be_nan(
// CHECK-SAME: %[[X:.*]]: vector<8xf32>, %[[Y:.*]]: vector<8xf32>)
// CHECK: %[[BEST:.*]] = llvm.call_intrinsic "llvm.x86.avx.min.ps.256"(%[[X]], %[[Y]])
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK: arith.select %[[NAN]], %[[X]], %[[BEST]]
func.func @both_may_be_nan(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %r = arith.minimumf %x, %y : vector<8xf32>
  return %r : vector<8xf32>
}

// CHECK-LABEL: func.func @plain(
// CHECK: arith.maximumf
func.func @plain(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %r = arith.maximumf %x, %y fastmath<nnan,nsz> : vector<8xf32>
  return %r : vector<8xf32>
}
