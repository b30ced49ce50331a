// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of kernels on rows: verification.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

LogicalResult MapRowOp::verify() {
  Block &block = getBody().front();
  auto elementOf = [](Value row) { return cast<MemRefType>(row.getType()).getElementType(); };
  auto yield = dyn_cast<YieldOp>(block.back());
  bool fits = block.getNumArguments() == getInputs().size() && yield &&
              yield.getValue().getType() == elementOf(getOut());
  for (size_t i = 0; fits && i < getInputs().size(); ++i)
    fits = block.getArgument(i).getType() == elementOf(getInputs()[i]);
  if (!fits)
    return emitOpError(
        "expected a region that makes an element of the output of one of each input");
  return success();
}
