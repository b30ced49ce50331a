// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask to a look at some of its tiles.
#include "compiler/transforms/MaskTiles.h"

#include "compiler/transforms/AttentionShape.h"
#include "compiler/transforms/MaskIntervals.h"
#include "dialect/Locations.h"
#include "dialect/Reasons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attn;

namespace {

/// A copy of a mask whose sizes are numbers, and the ranges of its positions.
class MaskProbe {
public:
  MaskProbe(AttentionOp op, Region &mask);

  /// Whether the pairs of a tile are live, at the last place of all batch axes or at the first;
  /// nothing where that is not known when compiling.
  std::optional<LivePairs> tile(int64_t query, int64_t key, bool atLast);
  /// Likewise of a pair.
  std::optional<LivePairs> pair(int64_t query, int64_t key, bool atLast) {
    return range(query, query, key, key, atLast);
  }

  int64_t queries = 1, keys = 1; ///< the sizes of the axes
  static constexpr int64_t tileQueries = AttentionShape::queries,
                           tileKeys = AttentionShape::maskedTileKeys;

private:
  std::optional<LivePairs> range(int64_t query, int64_t lastQuery, int64_t key, int64_t lastKey,
                                 bool atLast);
  int64_t sizeOf(RankedTensorType type, int64_t axis);
  std::optional<int64_t> boundOf(StringRef dim);

  AttentionOp op;
  Region copy;
  SmallVector<int64_t> sizes; ///< of the query's axes
  size_t rows = 0;            ///< which of them is that of the queries
};

} // namespace

std::optional<int64_t> MaskProbe::boundOf(StringRef name) {
  auto dim =
      SymbolTable::lookupNearestSymbolFrom<DimOp>(op, StringAttr::get(op.getContext(), name));
  return dim ? std::optional(static_cast<int64_t>(dim.getSize())) : std::nullopt;
}

int64_t MaskProbe::sizeOf(RankedTensorType type, int64_t axis) {
  constexpr int64_t some = 1024;
  if (!type.isDynamicDim(axis))
    return type.getDimSize(axis);
  auto size = parseLinearSize(axesOf(type)[axis].getValue());
  auto bound = size ? boundOf(size->dim) : std::nullopt;
  return bound ? size->scale * *bound + size->offset : some;
}

MaskProbe::MaskProbe(AttentionOp op, Region &mask) : op(op) {
  IRMapping mapping;
  mask.cloneInto(&copy, mapping);
  copy.walk([&](SizeOp size) {
    OpBuilder builder(size);
    int64_t bound = boundOf(size.getDim()).value_or(1024);
    size.replaceAllUsesWith(
        arith::ConstantIndexOp::create(builder, size.getLoc(), bound).getResult());
    size.erase();
  });
  auto query = cast<RankedTensorType>(op.getQuery().getType()),
       key = cast<RankedTensorType>(op.getKey().getType());
  keys = sizeOf(key, axisIndex(key, op.getKeyAxis()));
  for (int64_t d = 0; d + 1 < query.getRank(); ++d) {
    sizes.push_back(sizeOf(query, d));
    bool isOwn = axisIndex(key, axesOf(query)[d]) < 0;
    if (isOwn && sizes.back() >= queries)
      queries = sizes.back(), rows = d;
  }
}

std::optional<LivePairs> MaskProbe::range(int64_t query, int64_t lastQuery, int64_t key,
                                          int64_t lastKey, bool atLast) {
  Block folded; // what the bounds are computed by, which nothing runs
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToStart(&folded);
  auto from = [&](int64_t lo, int64_t hi) -> Interval {
    return {arith::ConstantIndexOp::create(builder, op.getLoc(), lo),
            arith::ConstantIndexOp::create(builder, op.getLoc(), hi)};
  };
  SmallVector<Interval> positions;
  for (auto [d, size] : llvm::enumerate(sizes))
    positions.push_back(d == rows ? from(query, lastQuery)
                                  : from(atLast ? size - 1 : 0, atLast ? size - 1 : 0));
  positions.push_back(from(key, lastKey));
  return judgePairs(builder, op.getLoc(), copy, positions, op.getCaptures());
}

std::optional<LivePairs> MaskProbe::tile(int64_t query, int64_t key, bool atLast) {
  return range(query, std::min(query + tileQueries, queries) - 1, key,
               std::min(key + tileKeys, keys) - 1, atLast);
}

/// Where some tiles begin, the first and the last among them.
static SmallVector<int64_t> someTiles(int64_t count, int64_t size) {
  constexpr int64_t most = 12;
  int64_t tiles = std::max<int64_t>((count + size - 1) / size, 1), taken = std::min(tiles, most);
  SmallVector<int64_t> starts;
  for (int64_t n = 0; n < taken; ++n)
    starts.push_back((taken == 1 ? 0 : n * (tiles - 1) / (taken - 1)) * size);
  return starts;
}

/// Tries the pairs of a tile until one is live, as long as `tries` last.
static void lookAtPairs(MaskProbe &probe, int64_t query, int64_t key, bool atLast, int64_t &tries,
                        MaskTiles &tiles) {
  for (int64_t i = query; i < std::min(query + tiles.queries, probe.queries); ++i)
    for (int64_t j = key; j < std::min(key + tiles.keys, probe.keys); ++j) {
      if (tries-- <= 0)
        return;
      LivePairs live = probe.pair(i, j, atLast).value_or(LivePairs::Perhaps);
      tiles.isSomeUnclear |= live == LivePairs::Perhaps;
      if (live != LivePairs::None)
        return;
    }
  tiles.isSomeUntold = true;
}

MaskTiles attn::lookAtTiles(AttentionOp op, Region &mask, bool isExact) {
  MaskProbe probe(op, mask);
  MaskTiles tiles;
  tiles.queries = MaskProbe::tileQueries;
  tiles.keys = MaskProbe::tileKeys;
  constexpr int64_t mostTries = 20000; // of pairs
  int64_t tries = isExact ? mostTries : 0;
  for (bool atLast : {false, true})
    for (int64_t query : someTiles(probe.queries, tiles.queries))
      for (int64_t key : someTiles(probe.keys, tiles.keys)) {
        std::optional<LivePairs> live = probe.tile(query, key, atLast);
        if (!live)
          return tiles;
        tiles.isSomeEmpty |= *live == LivePairs::None;
        tiles.isSomePartial |= *live == LivePairs::Perhaps;
        if (*live == LivePairs::Perhaps)
          lookAtPairs(probe, query, key, atLast, tries, tiles);
      }
  tiles.isKnown = true;
  tiles.isEachTried = tries > 0;
  return tiles;
}

/// The number of keys after which a mask repeats, if its formula asks for a remainder by it and all
/// pairs that are tried agree.
static std::optional<int64_t> periodOf(AttentionOp op, Region &mask) {
  std::optional<int64_t> period;
  mask.walk([&](arith::RemSIOp division) {
    APInt divisor;
    if (matchPattern(division.getRhs(), m_ConstantInt(&divisor)))
      period = std::max(period.value_or(0), divisor.getSExtValue());
  });
  MaskProbe probe(op, mask);
  if (!period || *period <= 0)
    return std::nullopt;
  for (int64_t i = 0; i < probe.queries; i += std::max<int64_t>(probe.queries / 8, 1))
    for (int64_t j = 0; j + *period < std::min(probe.keys, 4 * *period); ++j) {
      std::optional<LivePairs> one = probe.pair(i, j, /*atLast=*/true);
      if (!one || one == LivePairs::Perhaps || one != probe.pair(i, j + *period, /*atLast=*/true))
        return std::nullopt;
    }
  return period;
}

void attn::explainMask(AttentionOp op) {
  if (op.getMask().empty() || !wantsReasons(op))
    return;
  MaskTiles tiles = lookAtTiles(op, op.getMask(), /*isExact=*/true);
  if (!tiles.isKnown || tiles.isSomeEmpty || !tiles.isSomePartial)
    return;
  StringRef words = wordsAt(op.getMask().front().getTerminator()->getLoc());
  std::string name = words.empty() ? "the mask" : ("`" + words + "`").str();
  std::string size = llvm::formatv("{0} queries and {1} keys", tiles.queries, tiles.keys);
  if (tiles.isSomeUntold)
    return missed(op, Reason::WideBounds,
                  name + " has empty tiles of " + size + " that its formula does not tell",
                  "say bounds of each position by itself, as `window` does, joined by `and`: a "
                  "name that stands in a formula twice counts as two");
  if (tiles.isSomeUnclear)
    return missed(op, Reason::WideBounds,
                  name + " asks for what has no bounds when compiling, so no tile of " + size +
                      " is known to be empty",
                  "comparisons, sums, products and remainders of positions have bounds");
  if (!tiles.isEachTried)
    return;
  std::optional<int64_t> period = periodOf(op, op.getMask());
  if (period && *period < tiles.keys)
    return missed(
        op, Reason::NoEmptyTile,
        llvm::formatv("{0} is live somewhere in each tile of {1} that was looked at: its value "
                      "repeats every {2} keys",
                      name, size, *period)
            .str(),
        llvm::formatv("keys that are live together would have to lie together: in the "
                      "order of their remainder by {0}, tiles are empty",
                      *period)
            .str());
  missed(op, Reason::NoEmptyTile,
         name + " is live somewhere in each tile of " + size + " that was looked at",
         "tiles are passed by where keys that are live lie together, as those of `causal` and "
         "`window` do");
}
