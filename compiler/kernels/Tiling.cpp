// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which units of a kernel a worker computes.
#include "compiler/kernels/Tiling.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

void TilingContext::forEachUnit(IndexBuilder index, Value units,
                                llvm::function_ref<void(Value)> body) const {
  if (!interleaves) {
    UnitShare share = unitShare(index, units, thread, threads);
    return forLoop(index, share.from, share.to, 1, body);
  }
  auto loop = scf::ForOp::create(index.builder, index.loc, thread, units, threads);
  OpBuilder::InsertionGuard guard(index.builder);
  index.builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}
