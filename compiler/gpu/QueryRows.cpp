// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/gpu/QueryRows.h"

using namespace mlir;
using namespace attn;

/// Whether neighbours along a dim are the same.
static bool isRepeated(Value buffer, int64_t dim) {
  auto [strides, offset] = cast<MemRefType>(buffer.getType()).getStridesAndOffset();
  return strides[dim] == 0;
}

QueryRows::QueryRows(AttentionKernelOp op, IndexBuilder index, bool packs)
    : op(op), index(index), dims(static_cast<int64_t>(op.getBatch())) {
  int64_t rowDim = dims;
  while (packs && dims > 0 && isRepeated(op.getKey(), dims - 1) &&
         isRepeated(op.getValue(), dims - 1))
    --dims;
  heads = index.product(op.getOut(), 0, dims);
  count = index.product(op.getOut(), dims, rowDim + 1);
  keyCount = index.dim(op.getKey(), rowDim);
}

SmallVector<Value> QueryRows::headOf(Value head) {
  return index.delinearize(head, op.getOut(), 0, dims);
}

SmallVector<Value> QueryRows::positionsOf(ValueRange head, Value row) {
  SmallVector<Value> positions(head);
  llvm::append_range(positions, index.delinearize(row, op.getOut(), dims,
                                                  static_cast<int64_t>(op.getBatch()) + 1));
  return positions;
}

Interval QueryRows::boundTile(ValueRange head, Value firstRow, Value lastRow, Value firstKey,
                              Value lastKey) {
  SmallVector<Value> first = positionsOf(head, firstRow), last = positionsOf(head, lastRow);
  SmallVector<Interval> bounds;
  for (size_t i = 0; i < first.size(); ++i) {
    // Rows run through all of an inner dim, but for the first and the last.
    if (static_cast<int64_t>(i) > dims)
      bounds.push_back(
          {index.constant(0), index.sub(index.dim(op.getOut(), i), index.constant(1))});
    else
      bounds.push_back({first[i], last[i]});
  }
  bounds.push_back({firstKey, lastKey});
  return boundMask(index.builder, index.loc, op.getMask(), bounds, op.getCaptures());
}
