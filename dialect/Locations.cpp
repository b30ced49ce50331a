// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of the spec as part of a location: a NameLoc around the place, which ops carry through all
// stages.
#include "dialect/Locations.h"

#include "dialect/AttnDialect.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace attn;

static std::string textOf(FileLineColLoc place, StringRef file) {
  return llvm::formatv("{0}:{1}:{2}", file, place.getLine(), place.getColumn());
}

std::string attn::placeText(Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  return place ? textOf(place, place.getFilename().getValue()) : "";
}

std::string attn::shortPlaceText(Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  return place ? textOf(place, llvm::sys::path::filename(place.getFilename().getValue())) : "";
}

SmallVector<std::string> attn::placeTexts(Location loc) {
  SmallVector<std::string> texts;
  loc->walk([&](Location part) {
    if (auto place = dyn_cast<FileLineColLoc>(part))
      if (std::string text = placeText(place); !llvm::is_contained(texts, text))
        texts.push_back(std::move(text));
    return WalkResult::advance();
  });
  return texts;
}

Location attn::withTerm(Location loc, AttentionTerm term, std::optional<Location> place) {
  if (!place)
    return loc;
  MLIRContext *context = loc.getContext();
  auto places = DictionaryAttr::get(context, {{stringifyAttentionTerm(term), *place}});
  return FusedLoc::get({loc, *place}, places, context);
}

/// What `get` finds in the metadata of the first part of a location that has such.
template <typename Result>
static std::optional<Result> findIn(Location loc,
                                    llvm::function_ref<std::optional<Result>(Attribute)> get) {
  std::optional<Result> found;
  loc->walk([&](Location part) {
    if (auto fused = dyn_cast<FusedLoc>(part); fused && fused.getMetadata())
      found = get(fused.getMetadata());
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

Location attn::atTerm(Location loc, AttentionTerm term) {
  auto placeIn = [&](Attribute metadata) -> std::optional<Location> {
    auto places = dyn_cast<DictionaryAttr>(metadata);
    auto place = places ? places.getAs<LocationAttr>(stringifyAttentionTerm(term)) : LocationAttr();
    return place ? std::optional<Location>(place) : std::nullopt;
  };
  // The whole stands behind the place, for the other terms.
  auto fused = dyn_cast<FusedLoc>(loc);
  Location whole = fused && isa_and_present<AttentionTermAttr>(fused.getMetadata())
                       ? fused.getLocations().back()
                       : loc;
  SmallVector<Location> parts{whole};
  if (std::optional<Location> place = findIn<Location>(whole, placeIn))
    parts.insert(parts.begin(), *place);
  return FusedLoc::get(parts, AttentionTermAttr::get(loc.getContext(), term), loc.getContext());
}

Location attn::forTerm(Location loc, AttentionTerm term) {
  return FusedLoc::get({loc}, AttentionTermAttr::get(loc.getContext(), term), loc.getContext());
}

std::optional<AttentionTerm> attn::termOf(Location loc) {
  return findIn<AttentionTerm>(loc, [](Attribute metadata) -> std::optional<AttentionTerm> {
    auto term = dyn_cast<AttentionTermAttr>(metadata);
    return term ? std::optional(term.getValue()) : std::nullopt;
  });
}

Location attn::inWords(Location loc, StringRef words) {
  if (words.empty())
    return loc;
  return FusedLoc::get({loc}, StringAttr::get(loc.getContext(), words), loc.getContext());
}

StringRef attn::wordsAt(Location loc) {
  auto fused = dyn_cast<FusedLoc>(loc);
  auto words = fused ? dyn_cast_or_null<StringAttr>(fused.getMetadata()) : StringAttr();
  return words ? words.getValue() : StringRef();
}

SmallVector<Operation *> attn::operationsOf(Region &region) {
  SmallVector<Operation *> operations;
  if (!region.empty())
    for (Operation &op : region.front().without_terminator())
      if (!op.hasTrait<OpTrait::ConstantLike>())
        operations.push_back(&op);
  return operations;
}

SmallVector<std::string> attn::wordsOf(Region &region) {
  SmallVector<std::string> texts;
  DenseSet<Attribute> said;
  for (Operation *op : operationsOf(region)) {
    StringRef words = wordsAt(op->getLoc());
    if (!words.empty() && !said.insert(op->getLoc()).second)
      continue; // of the same expression
    if (isa<CastOpInterface>(op) && words.empty())
      texts.push_back(llvm::formatv("conversion to {0}", op->getResult(0).getType()));
    else
      texts.push_back(words.empty() ? op->getName().stripDialect().str() : words.str());
  }
  return texts;
}
