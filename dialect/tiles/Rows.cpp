// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of kernels on rows: verification.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

LogicalResult MapRowOp::verify() {
  Block &block = getBody().front();
  auto isFloat = [](Type type) { return type.isF32(); };
  auto yield = dyn_cast<YieldOp>(block.back());
  if (block.getNumArguments() != getInputs().size() ||
      !llvm::all_of(block.getArgumentTypes(), isFloat) || !yield ||
      !yield.getValue().getType().isF32())
    return emitOpError("expected a region that makes one f32 of as many as there are inputs");
  return success();
}
