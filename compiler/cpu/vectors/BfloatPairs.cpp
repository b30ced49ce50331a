// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of f32 to words of two bf16 and back, by the instructions of the CPU level or by
// integers.
#include "compiler/cpu/vectors/BfloatPairs.h"
#include "compiler/kernels/MathBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace attn;

Value BfloatPairs::bitcast(Value vector, int64_t lanes, Type element) const {
  return vector::BitCastOp::create(builder, loc, VectorType::get({lanes}, element), vector);
}

Value BfloatPairs::rounded(Value first, Value second) const {
  Type bf16 = builder.getBF16Type();
  if (!target.roundPairs.empty())
    return LLVM::CallIntrinsicOp::create(builder, loc, VectorType::get({2 * target.lanes}, bf16),
                                         builder.getStringAttr(target.roundPairs),
                                         ValueRange{second, first})
        .getResult(0);
  auto half = VectorType::get({target.lanes}, bf16);
  SmallVector<int64_t> all(2 * target.lanes);
  std::iota(all.begin(), all.end(), 0);
  return vector::ShuffleOp::create(builder, loc, arith::TruncFOp::create(builder, loc, half, first),
                                   arith::TruncFOp::create(builder, loc, half, second), all);
}

Value BfloatPairs::bits(Value vector) const {
  auto half = VectorType::get({target.lanes}, builder.getBF16Type());
  Value narrow = !target.roundPair.empty()
                     ? LLVM::CallIntrinsicOp::create(
                           builder, loc, half, builder.getStringAttr(target.roundPair), vector)
                           .getResult(0)
                     : arith::TruncFOp::create(builder, loc, half, vector).getResult();
  return bitcast(narrow, target.lanes, builder.getI16Type());
}

Value BfloatPairs::words(Value even, Value odd) const {
  Value apart = rounded(even, odd);
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < target.lanes; ++lane)
    order.append({lane, lane + target.lanes});
  Value pairs = vector::ShuffleOp::create(builder, loc, apart, apart, order);
  return bitcast(pairs, target.lanes, builder.getF32Type());
}

Value BfloatPairs::wordsOfFinite(Value even, Value odd) const {
  if (!target.amx)
    return words(even, odd);
  MathBuilder math(builder, loc, floats, target);
  auto raised = [&](Value value) { return math.iadd(math.bits(value), math.integer(0x8000)); };
  // As `and` and `or` it would become a shuffle of halves, three operations.
  constexpr int64_t firstOrOther = 0xca;
  Value lower = math.shiftRight(raised(even), 16), upper = raised(odd);
  Value choice = math.scalarInteger(firstOrOther, 32);
  Value words =
      LLVM::CallIntrinsicOp::create(builder, loc, upper.getType(),
                                    builder.getStringAttr("llvm.x86.avx512.pternlog.d.512"),
                                    ValueRange{math.integer(0xffff0000), upper, lower, choice})
          .getResult(0);
  return math.fromBits(words);
}

Value BfloatPairs::neighbours(Value first, Value second) const {
  return bitcast(rounded(first, second), target.lanes, builder.getF32Type());
}

Value BfloatPairs::even(Value words) const {
  MathBuilder math(builder, loc, floats, target);
  return math.fromBits(math.shiftLeft(bitcast(words, target.lanes, builder.getI32Type()), 16));
}

Value BfloatPairs::odd(Value words) const {
  MathBuilder math(builder, loc, floats, target);
  Value bits = bitcast(words, target.lanes, builder.getI32Type());
  return math.fromBits(math.iand(bits, math.integer(0xffff0000)));
}

Value BfloatPairs::multiplyAdd(Value a, Value b, Value sum) const {
  if (target.takesWords())
    std::swap(a, b);
  auto pairs = [&](Value words) { return bitcast(words, 2 * target.lanes, builder.getBF16Type()); };
  return LLVM::CallIntrinsicOp::create(builder, loc, floats, builder.getStringAttr(target.dotPairs),
                                       ValueRange{sum, pairs(a), pairs(b)})
      .getResult(0);
}
