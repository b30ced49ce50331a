// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: parts of an attention's buffers and of its scratch, as tiles take
// them.
#include "compiler/cpu/attention/AttentionViews.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace attn {

Value headOf(AttentionTiling &tiling, Value buffer, ValueRange batch) {
  SmallVector<OpFoldResult> offsets(batch.begin(), batch.end()),
      sizes(batch.size(), tiling.builder.getIndexAttr(1));
  return viewOf(tiling.index, buffer, offsets, sizes, batch.size());
}

Value vectorOf(AttentionTiling &tiling, ElementOp element, ValueRange batch) {
  AttentionKernelOp op = tiling.op;
  auto argument = cast<BlockArgument>(element.getTensor());
  Block &region = op.getScore().front();
  size_t firstCapture = region.getNumArguments() - op.getCaptures().size();
  Value buffer = op.getCaptures()[argument.getArgNumber() - firstCapture];
  SmallVector<OpFoldResult> offsets;
  for (Value position : element.getPositions()) {
    if (auto known = constantIndex(position))
      offsets.push_back(tiling.builder.getIndexAttr(*known));
    else
      offsets.push_back(batch[cast<BlockArgument>(position).getArgNumber() - 2]);
  }
  int64_t dropped = offsets.size();
  return viewOf(tiling.index, buffer, offsets,
                SmallVector<OpFoldResult>(dropped, tiling.builder.getIndexAttr(1)), dropped);
}

Value rowsOf(AttentionTiling &tiling, Value matrix, Value from, Value count) {
  OpBuilder &builder = tiling.builder;
  auto fold = [&](Value size) -> OpFoldResult {
    std::optional<int64_t> known = constantIndex(size);
    return known ? OpFoldResult(builder.getIndexAttr(*known)) : size;
  };
  auto attr = [&](int64_t size) -> OpFoldResult { return builder.getIndexAttr(size); };
  int64_t columns = cast<MemRefType>(matrix.getType()).getDimSize(1);
  return memref::SubViewOp::create(
      builder, tiling.index.loc, matrix, ArrayRef<OpFoldResult>{fold(from), attr(0)},
      ArrayRef<OpFoldResult>{fold(count), attr(columns)}, ArrayRef<OpFoldResult>{attr(1), attr(1)});
}

Value scratchOf(AttentionTiling &tiling, int64_t at, Value part, int64_t rows, int64_t columns) {
  IndexBuilder &index = tiling.index;
  auto attr = [&](int64_t size) -> OpFoldResult { return tiling.builder.getIndexAttr(size); };
  Value from = index.add(index.constant(at), index.mul(part, index.constant(rows * columns)));
  std::optional<int64_t> known = constantIndex(from);
  Value flat =
      viewOf(index, tiling.op.getScratch(), {tiling.context.thread, known ? attr(*known) : from},
             {attr(1), attr(rows * columns)}, /*dropped=*/1);
  return memref::ExpandShapeOp::create(tiling.builder, index.loc, {rows, columns}, flat, {{0, 1}});
}

Value packedOf(AttentionTiling &tiling, int64_t at, Value from, int64_t rows, int64_t columns) {
  Value tile = tiling.shape.packedTiles > 1
                   ? tiling.index.div(from, tiling.index.constant(tiling.shape.tile))
                   : tiling.zero;
  return scratchOf(tiling, at, tile, rows, columns);
}

bool isPacked(AttentionTiling &tiling) {
  SmallVector<int64_t> strides;
  int64_t offset, fewQueries = 16;
  if (failed(cast<MemRefType>(tiling.head.value.getType()).getStridesAndOffset(strides, offset)))
    return true;
  return constantIndex(tiling.queryCount).value_or(fewQueries + 1) > fewQueries &&
         strides[0] != tiling.shape.packedFeatures;
}

} // namespace attn
