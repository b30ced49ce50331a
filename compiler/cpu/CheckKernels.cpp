// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What must hold of the kernels stage.
#include "compiler/cpu/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace attn {
#define GEN_PASS_DEF_CHECKKERNELSPASS
#include "compiler/cpu/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct CheckKernelsPass : attn::impl::CheckKernelsPassBase<CheckKernelsPass> {
  void runOnOperation() override {}
};

} // namespace
