// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output of an attention whose keys were divided: a warp for each query, always in the order of
// the parts.
#include "compiler/gpu/attention/Attention.h"
#include "compiler/gpu/threads/Warp.h"
#include "compiler/transforms/FewQueries.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

class CombineWarp : Warp {
public:
  CombineWarp(CombineKernelOp op, OpBuilder &builder)
      : Warp(builder, op.getLoc()), op(op),
        shape{/*lanes=*/1, cast<MemRefType>(op.getOut().getType()).getShape().back()} {}

  void run(const TilingContext &context);

private:
  void query(Value unit);
  /// What `body` makes of `inits` and each part in turn.
  SmallVector<Value> overParts(ValueRange inits,
                               llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  Value read(Value part, Value at) {
    return load(op.getPartials(), {head, part, index.add(start, at)});
  }
  Value number(double value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value equals(Value a, double b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, number(b));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }

  CombineKernelOp op;
  FewQueriesShape shape;
  Value head, start; ///< of a query: where its state begins
};

} // namespace

SmallVector<Value>
CombineWarp::overParts(ValueRange inits,
                       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop =
      scf::ForOp::create(builder, loc, index.constant(0), index.dim(op.getPartials(), 1),
                         index.constant(1), inits, [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(builder, loc, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return loop.getResults();
}

void CombineWarp::query(Value unit) {
  int64_t batchDims = cast<MemRefType>(op.getOut().getType()).getRank() - 2;
  Value queries = index.dim(op.getOut(), batchDims), total = index.constant(shape.sumFloats()),
        largest = index.constant(shape.sumFloats() + 1);
  head = index.div(unit, queries);
  start = index.mul(index.rem(unit, queries), index.constant(shape.stateFloats()));
  double none = -std::numeric_limits<double>::infinity();
  Value maximum = overParts(number(none), [&](Value part, ValueRange most) -> SmallVector<Value> {
    return {arith::MaxNumFOp::create(builder, loc, most[0], read(part, largest))};
  })[0];
  Value shift = select(equals(maximum, none), number(0), maximum);
  auto factorOf = [&](Value part) -> Value {
    Value difference = arith::SubFOp::create(builder, loc, read(part, largest), shift);
    return math::ExpOp::create(builder, loc, difference);
  };
  auto sumOf = [&](Value at) {
    return overParts(number(0), [&](Value part, ValueRange sum) -> SmallVector<Value> {
      return {math::FmaOp::create(builder, loc, read(part, at), factorOf(part), sum[0])};
    })[0];
  };
  Value sum = sumOf(total);
  Value scale =
      select(equals(sum, 0), number(0), arith::DivFOp::create(builder, loc, number(1), sum));
  SmallVector<Value> place = index.delinearize(unit, op.getOut(), 0, batchDims + 1);
  forEach(index.constant(shape.valueFeatures), [&](Value feature) {
    SmallVector<Value> own(place);
    own.push_back(feature);
    store(arith::MulFOp::create(builder, loc, sumOf(feature), scale), op.getOut(), own);
  });
}

void CombineWarp::run(const TilingContext &context) {
  int64_t rank = cast<MemRefType>(op.getOut().getType()).getRank();
  Value units = index.product(op.getOut(), 0, rank - 1);
  context.forEachUnit(index, units, [&](Value unit) { query(unit); });
}

KernelLaunches attn::launchesOf(CombineKernelOp) {
  KernelLaunch launch;
  launch.workers = WorkerKind::Warp;
  launch.emit = [](Operation *kernel, const TilingContext &context, ValueRange) {
    OpBuilder builder(kernel);
    CombineWarp(cast<CombineKernelOp>(kernel), builder).run(context);
    return success();
  };
  return SmallVector<KernelLaunch>{launch};
}
