// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the functions of a module share: elements, states of caches, constants.
#include "compiler/transforms/plan/Module.h"
#include "dialect/Caches.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attn::planning {

ModulePlan::ModulePlan(ModuleOp module) : op(module), layout(module) {
  for (auto dim : module.getOps<DimOp>())
    if (dim.getDynamic())
      dims.push_back(dim.getSymName());
  auto note = [&](auto op) {
    if (!isOnlyMultiplied(op.getResult()))
      readStates.insert(op.getState());
  };
  module.walk([&](Operation *op) { llvm::TypeSwitch<Operation *>(op).Case<PushOp, KeptOp>(note); });
}

SizePolynomial ModulePlan::layerOf(StateOp state) {
  int64_t capacity = op.lookupSymbol<DimOp>(state.getCache()).getSize();
  return elementsOf(cast<RankedTensorType>(state.getType())).with(state.getCache(), capacity);
}

SizePolynomial ModulePlan::placeOf(StateOp state) {
  SizePolynomial place;
  for (auto other : op.getOps<StateOp>()) {
    if (other == state)
      break;
    if (other.getCache() == state.getCache())
      place = place + SizePolynomial(static_cast<int64_t>(other.getLayers())) * layerOf(other);
  }
  return place;
}

Type ModulePlan::elementOf(StateOp state) {
  Type element = cast<RankedTensorType>(state.getType()).getElementType();
  bool isNarrow = keptHalf() && element.isF32() && !readStates.contains(state.getSymName());
  return isNarrow ? keptHalf() : element;
}

Type ModulePlan::roundedTo() const {
  MLIRContext *context = op->getContext();
  if (precision == Precision::F16) // which no CPU level multiplies
    return isGpu() ? Type(Float16Type::get(context)) : Type();
  return targets.anyMultipliesPairs() && storedPrecision(precision) != Precision::F32
             ? Type(BFloat16Type::get(context))
             : Type();
}

bool ModulePlan::isOnlyMultiplied(Value tensor) const {
  return isReadOnlyBy(tensor, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto linear = dyn_cast<LinearOp>(user))
      return use.getOperandNumber() == 0 && !linear.getNorm() &&
             typeOf(linear.getInput()).getShape().back() % 2 == 0;
    if (auto push = dyn_cast<PushOp>(user))
      return !readStates.contains(push.getState());
    return isa<AttentionOp>(user) && use.getOperandNumber() < 3;
  });
}

memref::GlobalOp ModulePlan::constants(DenseElementsAttr elements, Location loc) {
  memref::GlobalOp &global = tables[elements];
  if (global)
    return global;
  OpBuilder builder(op.getBodyRegion());
  ShapedType flat = RankedTensorType::get({elements.getNumElements()}, elements.getElementType());
  global = memref::GlobalOp::create(
      builder, loc, "table." + std::to_string(tables.size() - 1), builder.getStringAttr("private"),
      MemRefType::get(flat.getShape(), flat.getElementType()), elements.reshape(flat),
      /*constant=*/true, builder.getI64IntegerAttr(64));
  return global;
}

} // namespace attn::planning
