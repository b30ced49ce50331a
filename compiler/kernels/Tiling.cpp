// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which units of a kernel a worker computes.
#include "compiler/kernels/Tiling.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

UnitShare Pieces::of(IndexBuilder index, Value units) const {
  return {index.div(index.mul(units, from), count), index.div(index.mul(units, to), count)};
}

void TilingContext::forEachUnit(IndexBuilder index, Value units,
                                llvm::function_ref<void(Value)> body) const {
  if (!interleaves) {
    UnitShare share = pieces.of(index, units);
    return forLoop(index, share.from, share.to, 1, body);
  }
  auto loop = scf::ForOp::create(index.builder, index.loc, thread, units, threads);
  OpBuilder::InsertionGuard guard(index.builder);
  index.builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}
