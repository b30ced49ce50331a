// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.kept, and what entries do with caches.
#include "dialect/Attributes.h"
#include "dialect/Caches.h"

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
