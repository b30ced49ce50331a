// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the functions of a module share: elements, states of caches, constants.
#include "compiler/transforms/plan/Module.h"
#include "dialect/Caches.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attn::planning {

/// Whether what is read are rows at indices, or weights that have a slot of their own.
static bool readsRows(OpOperand &use) {
  if (auto linear = dyn_cast<LinearOp>(use.getOwner())) {
    OperandRange weights = linear.getWeights();
    unsigned first = weights.getBeginOperandIndex(), own = use.getOperandNumber();
    return own >= first && own < first + weights.size();
  }
  auto lookup = dyn_cast<LookupOp>(use.getOwner());
  return lookup && !lookup.isBeginning();
}

ModulePlan::ModulePlan(ModuleOp module) : op(module), layout(module) {
  for (auto dim : module.getOps<DimOp>())
    if (dim.getDynamic())
      dims.push_back(dim.getSymName());
  auto note = [&](auto op) {
    if (!isOnlyMultiplied(op.getResult()))
      readStates.insert(op.getState());
  };
  module.walk([&](Operation *op) { llvm::TypeSwitch<Operation *>(op).Case<PushOp, KeptOp>(note); });
  module.walk([&](GetOp get) {
    if (!llvm::all_of(get.getResult().getUses(), readsRows))
      readTables.insert(get.getParam());
  });
  module.walk([&](RouteOp route) {
    auto places = elementsOf(cast<RankedTensorType>(route.getPlaces().getType()));
    auto experts = static_cast<int64_t>(route.getExperts());
    auto [known, isNew] = routed.try_emplace(route.rowsName(), RoutedRows{places, experts});
    if (!isNew) // of a copy
      known->second.most = SizePolynomial::upperBound(known->second.most, places);
  });
}

Precision ModulePlan::precisionOfRows(ParamOp table) const {
  return readTables.contains(table.getSymName())
             ? Precision::F32
             : rowPrecision(table.getPrecision().value_or(precision));
}

SizePolynomial ModulePlan::withMostRows(const SizePolynomial &size) const {
  SizePolynomial result = size;
  for (const auto &route : routed)
    result = result.with(route.first(), route.second.most);
  return result;
}

SizePolynomial ModulePlan::withMeanRows(const SizePolynomial &size) const {
  SizePolynomial result = size;
  for (const auto &route : routed) {
    SizePolynomial others = result.with(route.first(), 0), ofRows = result - others;
    result = others + ofRows.with(route.first(), route.second.most).dividedBy(route.second.experts);
  }
  return result;
}

ArrayRef<StringRef> ModulePlan::routedIn(func::FuncOp function) {
  auto [known, isNew] = routedOf.try_emplace(function.getSymName());
  if (!isNew || routed.empty())
    return known->second;
  llvm::SetVector<StringRef> names;
  auto addType = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    for (int64_t d = 0; tensor && d < tensor.getRank(); ++d)
      if (tensor.isDynamicDim(d))
        if (auto route = routed.find(parseLinearSize(axesOf(tensor)[d].getValue())->dim);
            route != routed.end())
          names.insert(route->first());
  };
  llvm::for_each(function.getArgumentTypes(), addType);
  function.walk([&](Operation *inner) {
    llvm::for_each(inner->getResultTypes(), addType);
    if (auto call = dyn_cast<func::CallOp>(inner))
      names.insert_range(routedOf.lookup(call.getCallee()));
  });
  function.walk([&](RouteOp route) { names.remove(routed.find(route.rowsName())->first()); });
  return routedOf[function.getSymName()] = names.takeVector();
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
    return placement().multipliesAll ? Type(Float16Type::get(context)) : Type();
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
