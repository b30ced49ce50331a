// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels cost, and the barriers behind them, which name it.
#include "compiler/transforms/plan/Costs.h"

using namespace mlir;

namespace attn::planning {

void barrier(FunctionPlan &plan, Operation *op, const KernelCost &ofMost) {
  KernelCost cost = ofMost;
  cost.flop = plan.module.withMeanRows(cost.flop),
  cost.bytes = plan.module.withMeanRows(cost.bytes);
  OpBuilder module(plan.target);
  std::string name = ("cost." + plan.target.getSymName() + "." + llvm::Twine(plan.costs++)).str();
  CostOp::create(module, op->getLoc(), name, cost.title, cost.flop.attribute(plan.builder),
                 cost.bytes.attribute(plan.builder));
  BarrierOp::create(plan.builder, plan.loc, plan.arguments.call, plan.arguments.thread,
                    FlatSymbolRefAttr::get(plan.builder.getContext(), name));
}

SizePolynomial savedBytes(RankedTensorType type, Type stored) {
  int64_t bits = int64_t(type.getElementTypeBitWidth()) - int64_t(stored.getIntOrFloatBitWidth());
  return elementsOf(type) * SizePolynomial(std::max<int64_t>(bits / 8, 0));
}

KernelCost costOf(FunctionPlan &plan, ComputeOpInterface op,
                  ArrayRef<std::pair<Value, Type>> read) {
  KernelCost cost = KernelCost::of(op);
  auto save = [&](ValueRange tensors) {
    for (Value tensor : tensors) {
      auto copied = llvm::find_if(read, [&](auto &copy) { return copy.first == tensor; });
      auto known = plan.places.views.find(tensor);
      Type stored = copied != read.end()               ? copied->second
                    : known != plan.places.views.end() ? known->second.element()
                                                       : Type();
      if (stored)
        cost.bytes = cost.bytes - savedBytes(typeOf(tensor), stored);
    }
  };
  save(op->getOperands());
  save(op->getResults());
  return cost;
}

} // namespace attn::planning
