// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, softmax of a row: three sweeps, of which the first finds the largest element m,
// the second writes exp(x - m) and sums it up, and the third scales. A row of -inf alone has the
// least finite number for m, and its sum of 0 makes the scale 0.
#include "compiler/cpu/rows/Rows.h"
#include "compiler/cpu/vectors/RowVectors.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace attn;

void attn::emitSoftmax(SoftmaxRowOp op, const RowVectors &rows) {
  IndexBuilder index = rows.index;
  OpBuilder &builder = index.builder;
  Location loc = index.loc;
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  least = std::numeric_limits<float>::lowest();
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  };
  auto repeat = [&](Value scalar) { return splat(builder, loc, scalar, rows.target.lanes); };
  auto larger = [&](Value a, Value b) -> Value {
    return arith::MaximumFOp::create(builder, loc, a, b);
  };
  Value columns = index.dim(op.getOut(), 0), input = rows.prepare(op.getInput());
  Value nothing = repeat(number(-infinity));

  SmallVector<Value> largest =
      rows.forEachVector(columns, 4, nothing, [&](const VectorPlace &place, ValueRange most) {
        return SmallVector<Value>{larger(most[0], rows.load(input, place, nothing))};
      });
  Value most = largest[0];
  for (Value other : llvm::drop_begin(largest))
    most = larger(most, other);
  most = repeat(larger(rows.acrossLanes(most, larger), number(least)));

  SmallVector<Value> sums =
      rows.forEachVector(columns, 4, rows.zero(), [&](const VectorPlace &place, ValueRange sum) {
        Value shifted = arith::SubFOp::create(builder, loc, rows.load(input, place, nothing), most);
        Value element = math::ExpOp::create(builder, loc, shifted);
        rows.store(element, op.getOut(), place);
        return SmallVector<Value>{arith::AddFOp::create(builder, loc, sum[0], element)};
      });
  Value sum = sums[0];
  for (Value other : llvm::drop_begin(sums))
    sum = arith::AddFOp::create(builder, loc, sum, other);
  sum = rows.sumOfLanes(sum);
  Value isZero = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, sum, number(0));
  Value scale = arith::SelectOp::create(builder, loc, isZero, number(0),
                                        arith::DivFOp::create(builder, loc, number(1), sum));
  Value scales = repeat(scale);
  rows.forEachVector(columns, 4, {}, [&](const VectorPlace &place, ValueRange) {
    Value element = rows.load(op.getOut(), place);
    rows.store(arith::MulFOp::create(builder, loc, element, scales), op.getOut(), place);
    return SmallVector<Value>{};
  });
}
