// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.map_row: one sweep.
#include "compiler/kernels/rows/RowKernels.h"
#include "compiler/kernels/rows/RowLanes.h"

using namespace mlir;
using namespace attn;

LogicalResult attn::emitRow(MapRowOp op, const RowLanes &lanes) {
  SmallVector<Value> rows;
  for (Value input : op.getInputs())
    rows.push_back(lanes.prepare(input));
  bool isWhole = true;
  lanes.forEach(lanes.index.dim(op.getOut(), 0), 2, [&](const RowPlace &place) {
    SmallVector<Value> elements;
    for (Value row : rows)
      elements.push_back(lanes.load(row, place));
    if (Value result = lanes.apply(op.getBody(), elements))
      lanes.store(result, op.getOut(), place);
    else
      isWhole = false;
  });
  return success(isWhole);
}
