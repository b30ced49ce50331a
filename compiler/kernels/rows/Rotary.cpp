// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.rotary_row: pairs (a, b) of columns become (a cos - b sin, b cos + a sin). Columns behind
// the pairs are copied.
#include "compiler/kernels/rows/RowKernels.h"
#include "compiler/kernels/rows/RowLanes.h"

using namespace mlir;
using namespace attn;

void attn::copyBehindPairs(RotaryRowOp op, const RowLanes &lanes) {
  int64_t turned = 2 * op.getCos().getType().getDimSize(0);
  int64_t others = op.getOut().getType().getDimSize(0) - turned;
  if (others == 0)
    return;
  Value first = lanes.index.constant(turned);
  lanes.forEach(lanes.index.constant(others), 2, [&](const RowPlace &place) {
    RowPlace behind{lanes.index.add(place.column, first), place.mask};
    lanes.store(lanes.loadFloats(op.getInput(), behind), op.getOut(), behind);
  });
}

LogicalResult attn::emitRow(RotaryRowOp op, const RowLanes &lanes) {
  const IndexBuilder &index = lanes.index;
  const FloatArithmetic &math = lanes.math;
  bool areNeighbours = op.getInterleaved();
  assert(!(areNeighbours && lanes.areVectors()) && "expected lanes with a column each");
  Value pairs = index.dim(op.getCos(), 0), one = index.constant(1), two = index.constant(2);
  lanes.forEach(pairs, 2, [&](const RowPlace &pair) {
    RowPlace first = pair;
    if (areNeighbours)
      first.column = index.mul(pair.column, two);
    RowPlace second{index.add(first.column, areNeighbours ? one : pairs), pair.mask};
    Value a = lanes.loadFloats(op.getInput(), first), b = lanes.loadFloats(op.getInput(), second);
    Value cos = lanes.loadFloats(op.getCos(), pair), sin = lanes.loadFloats(op.getSin(), pair);
    lanes.store(math.fma(a, cos, math.neg(math.mul(b, sin))), op.getOut(), first);
    lanes.store(math.fma(b, cos, math.mul(a, sin)), op.getOut(), second);
  });
  copyBehindPairs(op, lanes);
  return success();
}
