// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.softmax_row: three sweeps, of which the first finds the largest element m, the second writes
// exp(x - m) and sums it up, and the third scales. A row of -inf alone has the least finite number
// for m, and its sum of 0 makes the scale 0.
#include "compiler/kernels/rows/RowKernels.h"
#include "compiler/kernels/rows/RowLanes.h"
#include <limits>

using namespace mlir;
using namespace attn;

LogicalResult attn::emitRow(SoftmaxRowOp op, const RowLanes &lanes) {
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  least = std::numeric_limits<float>::lowest();
  const FloatArithmetic &math = lanes.math;
  auto larger = [&](Value a, Value b) { return math.larger(a, b); };
  auto plus = [&](Value a, Value b) { return math.add(a, b); };
  Value columns = lanes.index.dim(op.getOut(), 0), input = lanes.prepare(op.getInput());
  Value nothing = lanes.repeat(lanes.number(-infinity));

  Value most = lanes.fold(columns, 4, nothing, larger, [&](const RowPlace &place, Value most) {
    return larger(most, lanes.loadFloats(input, place, nothing));
  });
  most = lanes.repeat(larger(lanes.acrossLanes(most, larger), lanes.number(least)));

  Value zero = lanes.repeat(lanes.number(0));
  Value sums = lanes.fold(columns, 4, zero, plus, [&](const RowPlace &place, Value sum) {
    Value element = math.exp(math.sub(lanes.loadFloats(input, place, nothing), most));
    lanes.store(element, op.getOut(), place);
    return math.add(sum, element);
  });
  Value sum = lanes.sumOfLanes(sums);
  Value isZero = math.compare(arith::CmpFPredicate::OEQ, sum, lanes.number(0));
  Value scale = math.select(isZero, lanes.number(0), math.div(lanes.number(1), sum));
  Value scales = lanes.repeat(scale);
  lanes.forEach(columns, 4, [&](const RowPlace &place) {
    Value element = lanes.loadFloats(op.getOut(), place);
    lanes.store(math.mul(element, scales), op.getOut(), place);
  });
  return success();
}
