// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of math in the vector code of a level become polynomials
// (compiler/kernels/ExpandMath.cpp).
#include "compiler/cpu/Passes.h"
#include "compiler/kernels/MathBuilder.h"
#include "compiler/target/CpuTarget.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace attn {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "compiler/cpu/Passes.h.inc"
} // namespace attn

using namespace attn;

namespace {

struct ExpandMathPass : attn::impl::ExpandMathPassBase<ExpandMathPass> {
  using ExpandMathPassBase::ExpandMathPassBase;

  void runOnOperation() override {
    const CpuTarget *target = CpuTarget::find(level);
    if (!target) {
      getOperation().emitError() << "unknown CPU level '" << level << "'";
      return signalPassFailure();
    }
    expandMath(getOperation(), *target);
  }
};

} // namespace
