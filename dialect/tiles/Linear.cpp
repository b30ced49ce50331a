// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.linear_tile: verification.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

LogicalResult LinearTileOp::verify() {
  if (getRows() < 1 || getColumns() < 1 || getDepth() < 1)
    return emitOpError("expected a row, a column and a step at least");
  if (getUnroll() && *getUnroll() < 1)
    return emitOpError("expected a step of an iteration at least");
  int64_t rank = getInput().getType().getRank();
  if (getContract() < 1 || getContract() >= static_cast<uint64_t>(rank))
    return emitOpError("expected to contract 1 to ")
           << rank - 1 << " dims, but got " << getContract();
  for (Value buffer : getCaptures())
    if (cast<MemRefType>(buffer.getType()).getShape().back() !=
        getOut().getType().getShape().back())
      return emitOpError("expected captures with the columns of ")
             << getOut().getType() << ", but got " << buffer.getType();
  if (getEpilogue().empty())
    return success();
  Block &block = getEpilogue().front();
  if (block.getNumArguments() != 1 + getCaptures().size())
    return emitOpError("expected an epilogue of ")
           << 1 + getCaptures().size() << " arguments, but got " << block.getNumArguments();
  return success();
}
