// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of the spec as part of a location: a NameLoc around the place, which ops carry through all
// stages.
#include "dialect/Locations.h"

#include "mlir/IR/Location.h"

using namespace mlir;
using namespace attn;

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
