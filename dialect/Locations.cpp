// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/Locations.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

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

namespace {

/// What of a location goes into its name.
struct Parts {
  llvm::SmallSetVector<FileLineColRange, 4> places;
  StringRef name; ///< of a layer, or the spec's words

  void add(Location loc) {
    if (auto place = dyn_cast<FileLineColRange>(loc))
      places.insert(place);
    if (auto named = dyn_cast<NameLoc>(loc)) {
      if (name.empty())
        name = named.getName();
      add(named.getChildLoc());
    }
    if (auto fused = dyn_cast<FusedLoc>(loc)) {
      if (name.empty())
        name = wordsAt(loc);
      llvm::for_each(fused.getLocations(), [&](Location part) { add(part); });
    }
  }
};

struct LocationAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    constexpr size_t mostPlaces = 4, mostLetters = 24;
    auto loc = dyn_cast<LocationAttr>(attribute);
    if (!loc)
      return AliasResult::NoAlias;
    Parts parts;
    parts.add(loc);
    if (parts.places.empty())
      return AliasResult::NoAlias;
    auto write = [&](StringRef text) {
      StringRef before = "";
      for (char c : text.take_front(mostLetters)) {
        if (llvm::isAlnum(c))
          os << before << c;
        before = llvm::isAlnum(c) ? "" : "_"; // one for all between two words
      }
    };
    ArrayRef<FileLineColRange> places = parts.places.getArrayRef();
    for (auto [i, place] : llvm::enumerate(places.take_front(mostPlaces)))
      os << (i ? "_" : "") << 'L' << place.getStartLine() << 'C' << place.getStartColumn();
    if (places.size() > mostPlaces)
      os << "_and_more";
    os << '-';
    write(llvm::sys::path::stem(places.front().getFilename()));
    if (!parts.name.empty()) {
      os << '-';
      write(parts.name);
    }
    return AliasResult::FinalAlias;
  }
};

} // namespace

std::unique_ptr<DialectInterface> attn::createLocationAliases(Dialect *dialect) {
  return std::make_unique<LocationAliases>(dialect);
}
