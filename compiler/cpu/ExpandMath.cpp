// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of math on vectors as polynomials.
#include "compiler/cpu/CpuTarget.h"
#include "compiler/cpu/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace attn {
#define GEN_PASS_DEF_EXPANDMATHPASS
#define GEN_PASS_DEF_CHECKKERNELSPASS
#include "compiler/cpu/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct ExpandMathPass : attn::impl::ExpandMathPassBase<ExpandMathPass> {
  using ExpandMathPassBase::ExpandMathPassBase;
  void runOnOperation() override {}
};

struct CheckKernelsPass : attn::impl::CheckKernelsPassBase<CheckKernelsPass> {
  void runOnOperation() override {}
};

} // namespace
