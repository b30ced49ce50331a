// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels: the tiles of all kernels become vector code.
#include "compiler/cpu/Passes.h"
#include "compiler/cpu/attention/Attention.h"
#include "compiler/cpu/linear/Linear.h"
#include "compiler/cpu/rows/Rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace attn {
#define GEN_PASS_DEF_VECTORIZEPASS
#include "compiler/cpu/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct VectorizePass : attn::impl::VectorizePassBase<VectorizePass> {
  using VectorizePassBase::VectorizePassBase;

  void runOnOperation() override {
    const CpuTarget *target = CpuTarget::find(level);
    if (!target) {
      getOperation().emitError() << "unknown CPU level '" << level << "'";
      return signalPassFailure();
    }
    if (failed(vectorizeLinearTiles(getOperation(), *target)) ||
        failed(vectorizeLinearAmxTiles(getOperation(), *target)) ||
        failed(vectorizeRowTiles(getOperation(), *target)) ||
        failed(vectorizeAttentionTiles(getOperation(), *target)))
      signalPassFailure();
  }
};

} // namespace
