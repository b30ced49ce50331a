// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.kept, and what entries do with caches.
#include "dialect/Attributes.h"
#include "dialect/Caches.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace attn;

static constexpr llvm::StringLiteral kinds[] = {"push", "fill", "read"};

Attribute CacheUse::attribute() const {
  Builder builder(cache.getContext());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("cache", cache), builder.getNamedAttr("rows", rows),
       builder.getNamedAttr("use", builder.getStringAttr(kinds[static_cast<unsigned>(kind)]))});
}

SmallVector<CacheUse> attn::cachesOf(Operation *entry) {
  SmallVector<CacheUse> uses;
  auto list = entry->getAttrOfType<ArrayAttr>(attributes::caches);
  if (!list)
    return uses;
  for (auto use : list.getAsRange<DictionaryAttr>()) {
    StringRef word = use.getAs<StringAttr>("use").getValue();
    auto kind = static_cast<CacheUse::Kind>(llvm::find(kinds, word) - std::begin(kinds));
    uses.push_back({use.getAs<FlatSymbolRefAttr>("cache"), kind, use.getAs<StringAttr>("rows")});
  }
  return uses;
}

/// Whether the size of a dynamic axis is that of one of `dims`.
static bool hasAxisOf(Type type, ArrayRef<StringRef> dims) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  for (auto [d, name] : llvm::enumerate(axesOf(tensor))) {
    if (!tensor.isDynamicDim(static_cast<unsigned>(d)))
      continue;
    std::optional<LinearSize> size = parseLinearSize(name);
    if (size && llvm::is_contained(dims, size->dim))
      return true;
  }
  return false;
}

std::optional<ApartRows> ApartRows::of(Operation *entry) {
  auto batch = entry->getAttrOfType<StringAttr>(attributes::rows);
  if (!batch)
    return std::nullopt;
  ApartRows rows{batch.getValue(), {}, {}};
  for (const CacheUse &use : cachesOf(entry)) {
    if (use.kind == CacheUse::Kind::Push && rows.positions.empty())
      rows.positions = use.rows.getValue();
    rows.caches.push_back(use.name());
  }
  return rows;
}

bool ApartRows::hasPositions(Type type) const { return hasAxisOf(type, positions); }
bool ApartRows::hasCached(Type type) const { return hasAxisOf(type, caches); }
bool ApartRows::hasPlaces(Type type) const {
  return hasAxisOf(type, batch) && !hasPositions(type) && !hasCached(type);
}

Type ApartRows::packed(Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !hasPositions(type))
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  int64_t axis = axisIndex(tensor, batch);
  if (axis >= 0)
    shape[axis] = 1;
  return axesTensor(tensor.getElementType(), shape, axesOf(tensor));
}

ByRowOp::Share ByRowOp::shareOf(Type type) {
  if (hasAxisOf(type, getPositions()))
    return Share::Positions;
  return hasAxisOf(type, getBatch()) ? Share::Place : Share::All;
}

LogicalResult ByRowOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (FlatSymbolRefAttr name : {getCalleeAttr(), getSingleAttr()}) {
    auto callee = name ? symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, name) : nullptr;
    if (name && (!callee || callee.getNumArguments() != getOperands().size() ||
                 callee.getNumResults() != getValues().size())) // by_row_c1
      return emitOpError("expected a function of its operands and results, but got ") << name;
  }
  return success();
}

LogicalResult KeptOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
  if (!state) // kept_c1
    return emitOpError("expected a state, but got ") << getStateAttr();
  auto kept = cast<RankedTensorType>(state.getType()),
       result = cast<RankedTensorType>(getResult().getType());
  if (result.getShape() != kept.getShape() ||
      result.getElementType() != kept.getElementType()) // kept_c2
    return emitOpError("expected the state's shape ") << kept << ", but got " << result;
  return success();
}
