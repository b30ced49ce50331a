// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, the second kernel of an attention of a few queries: the states of the parts
// that a head's keys were divided into become its output, always in the same order.
#include "compiler/cpu/attention/FewQueriesEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

namespace {

class Combination : FewQueriesEmitter {
public:
  Combination(CombineKernelOp op, const CpuTiling &context)
      : FewQueriesEmitter(op, op.getOut(), context.target), op(op) {}

  void run(const CpuTiling &context);

private:
  /// What `body` makes of `values` and the states of each part in turn.
  SmallVector<Value> overParts(ValueRange values, Value head,
                               llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  void combine(Value head, Value out, Value query);

  CombineKernelOp op;
};

} // namespace

SmallVector<Value>
Combination::overParts(ValueRange values, Value head,
                       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  Value parts = index.dim(op.getPartials(), 1), one = index.constant(1);
  auto loop = scf::ForOp::create(builder, loc, zero, parts, one, values);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  OpFoldResult single = builder.getIndexAttr(1);
  Value states = viewOf(index, op.getPartials(), {head, loop.getInductionVar()}, {single, single},
                        /*dropped=*/2);
  scf::YieldOp::create(builder, loc, body(states, loop.getRegionIterArgs()));
  return loop.getResults();
}

void Combination::combine(Value head, Value out, Value query) {
  AtPlace place = writeFor(AttentionTerm::Weight);
  Value none = constant(-std::numeric_limits<double>::infinity());
  Value largest = overParts(none, head, [&](Value states, ValueRange most) -> SmallVector<Value> {
                    return {larger(most.front(), load(states, Part::Largest, query))};
                  }).front();
  Value from = reference(largest);
  SmallVector<Value> start(vectorsOf(valueFeatures) + 1, constant(0));
  SmallVector<Value> sums = overParts(start, head, [&](Value states, ValueRange before) {
    Value factor = weightOf(load(states, Part::Largest, query), from);
    SmallVector<Value> next;
    for (auto [v, sums] : llvm::enumerate(before.drop_back()))
      next.push_back(
          fma(load(states, Part::Sums, query, static_cast<int64_t>(v) * lanes), factor, sums));
    next.push_back(fma(load(states, Part::Total, query), factor, before.back()));
    return next;
  });
  Value total = sums.pop_back_val();
  finish(total, sums, out, query);
}

void Combination::run(const CpuTiling &context) {
  int64_t batch = cast<MemRefType>(op.getOut().getType()).getRank() - 2;
  Value heads = index.dim(op.getPartials(), 0);
  context.forEachUnit(index, heads, [&](Value head) {
    Value out = headOf(op.getOut(), index.delinearize(head, op.getOut(), 0, batch));
    forLoop(index, zero, index.constant(queries), 1,
            [&](Value query) { combine(head, out, query); });
  });
}

FailureOr<std::string> attn::combineParts(CombineKernelOp op, const CpuTiling &context) {
  Combination(op, context).run(context);
  return std::string("part by part");
}
