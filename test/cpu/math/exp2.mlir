// RUN: attn-opt %s -attn-expand-math=level=x86-64-v4 | FileCheck %s --check-prefix=V4
// RUN: attn-opt %s -attn-expand-math=level=x86-64-v3 | FileCheck %s --check-prefix=V3

// Round to steps of 1/32, subtract, look the step's power up, three products, scale: infinities and
// denormals come by themselves.
// V4-LABEL: func.func @exp2(
// V4-SAME: %[[X:.*]]: vector<16xf32>)
// V4: %[[SHIFTED:.*]] = arith.addf %[[X]], %[[MAGIC:.*]] :
// V4: %[[N:.*]] = arith.subf %[[SHIFTED]], %[[MAGIC]]
// V4: %[[R:.*]] = arith.subf %[[X]], %[[N]]
// V4: %[[BITS:.*]] = arith.bitcast %[[SHIFTED]]
// V4: %[[STEP:.*]] = llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.ps.512"(%{{.*}}, %[[BITS]], %{{.*}})
// V4: math.fma
// V4: arith.mulf
// V4: %[[POWER:.*]] = math.fma %[[STEP]], %{{.*}}, %[[STEP]]
// V4: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%[[POWER]], %[[N]],
// V4-NEXT: return

// AVX2 has no such scale: x is held in bounds, NaN as it is, and 2^n made of two factors.
// V3-LABEL: func.func @exp2(
// V3: %[[FAR:.*]] = arith.cmpf ogt, %[[LEAST:.*]], %[[X:.*]] :
// V3: arith.select %[[FAR]], %[[LEAST]], %[[X]]
// V3-COUNT-6: math.fma
// V3: arith.shli
// V3: arith.shli
// V3-NOT: call_intrinsic
func.func @exp2(%x: vector<16xf32>) -> vector<16xf32> {
  %r = math.exp2 %x : vector<16xf32>
  return %r : vector<16xf32>
}

// Of an approximation, three.
// V4-LABEL: func.func @rough(
// V4-COUNT-3: math.fma
// V4-NOT: math.fma
// V4: return
func.func @rough(%x: vector<16xf32>) -> vector<16xf32> {
  %r = math.exp2 %x fastmath<afn> : vector<16xf32>
  return %r : vector<16xf32>
}

// Half vectors have six products and their own scale; scalars are vectors for the while.
// V4-LABEL: func.func @half(
// V4: math.roundeven
// V4-COUNT-6: math.fma
// V4: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.256"
func.func @half(%x: vector<8xf32>) -> vector<8xf32> {
  %r = math.exp2 %x : vector<8xf32>
  return %r : vector<8xf32>
}

// V4-LABEL: func.func @scalar(
// V4: %[[WIDE:.*]] = vector.broadcast %{{.*}} : f32 to vector<16xf32>
// V4: %[[R:.*]] = vector.extract %{{.*}}[0] : f32 from vector<16xf32>
// V4: return %[[R]]
func.func @scalar(%x: f32) -> f32 {
  %r = math.exp2 %x : f32
  return %r : f32
}
