// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// maximumf and minimumf. LLVM's own sequences also order -0 before 0; here either may come out.
#include "compiler/kernels/MathBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// Whether no lane is NaN: a constant.
static bool isNumber(Value value) {
  DenseFPElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) &&
         llvm::none_of(constant.getValues<APFloat>(), [](const APFloat &x) { return x.isNaN(); });
}

/// x86's max(a, b) or min(a, b): a > b ? a : b, or with <. So b where one of both is NaN.
static Value chosen(const MathBuilder &m, bool isMaximum, Value a, Value b, bool asIntrinsic) {
  // LLVM finds the instruction for a choice, unless another is around it, with which it merges.
  if (auto suffix = m.avx512Suffix(); asIntrinsic && suffix == StringRef("512"))
    return m.intrinsic(isMaximum ? "llvm.x86.avx512.max.ps.512" : "llvm.x86.avx512.min.ps.512",
                       {a, b, m.scalarInteger(4, 32)});
  if (asIntrinsic && m.floats.getRank() == 1 && m.floats.getDimSize(0) == 8)
    return m.intrinsic(isMaximum ? "llvm.x86.avx.max.ps.256" : "llvm.x86.avx.min.ps.256", {a, b});
  auto better = isMaximum ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
  return m.select(m.compare(better, a, b), a, b);
}

static Value extremum(const MathBuilder &m, bool isMaximum, Value a, Value b) {
  if (isNumber(b))
    std::swap(a, b);
  if (isNumber(a))
    return chosen(m, isMaximum, a, b, false);
  Value best = chosen(m, isMaximum, a, b, true);
  return m.select(m.compare(arith::CmpFPredicate::UNO, a, a), a, best);
}

Value attn::expandMaximum(const MathBuilder &m, Value a, Value b) {
  return extremum(m, true, a, b);
}

Value attn::expandMinimum(const MathBuilder &m, Value a, Value b) {
  return extremum(m, false, a, b);
}
