// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names for tables and locations in printed IR, as Aliases.h says: of a location, the lines and
// columns of its parts, the file, and the layer's name or the spec's word.
#include "dialect/Aliases.h"
#include "dialect/Locations.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attn;

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

struct Aliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    if (auto elements = dyn_cast<DenseElementsAttr>(attribute))
      return aliasOf(elements, os);
    auto loc = dyn_cast<LocationAttr>(attribute);
    return loc ? aliasOf(loc, os) : AliasResult::NoAlias;
  }

private:
  static AliasResult aliasOf(DenseElementsAttr elements, raw_ostream &os) {
    constexpr int64_t mostInLine = 1024;
    if (elements.isSplat() || elements.getNumElements() <= mostInLine)
      return AliasResult::NoAlias;
    os << "table";
    return AliasResult::FinalAlias;
  }

  static AliasResult aliasOf(Location loc, raw_ostream &os) {
    constexpr size_t mostPlaces = 4, mostLetters = 24;
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

std::unique_ptr<DialectInterface> attn::createAliases(Dialect *dialect) {
  return std::make_unique<Aliases>(dialect);
}
