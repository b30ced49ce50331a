// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// maximumf and minimumf. LLVM's own sequences also order -0 before 0; here either may come out.
#include "compiler/cpu/MathBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// Whether no lane is NaN: a constant.
static bool isNumber(Value value) {
  DenseFPElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) &&
         llvm::none_of(constant.getValues<APFloat>(), [](APFloat x) { return x.isNaN(); });
}

/// x86's max(a, b) is a > b ? a : b, so b where one of both is NaN: enough if a is none.
static Value extremum(const MathBuilder &m, arith::CmpFPredicate better, Value a, Value b) {
  if (isNumber(b))
    std::swap(a, b);
  Value best = m.select(m.compare(better, a, b), a, b);
  if (isNumber(a))
    return best;
  return m.select(m.compare(arith::CmpFPredicate::UNO, a, a), a, best);
}

Value attn::expandMaximum(const MathBuilder &m, Value a, Value b) {
  return extremum(m, arith::CmpFPredicate::OGT, a, b);
}

Value attn::expandMinimum(const MathBuilder &m, Value a, Value b) {
  return extremum(m, arith::CmpFPredicate::OLT, a, b);
}
