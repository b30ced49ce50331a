// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of a linear to the tiles that it can have, and estimates of their cycles, as numbers or
// as code.
#include "compiler/gpu/linear/HopperLinearTile.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace attn;

// What an H100 does: 2048 products and sums of halves in a cycle of a multiprocessor; 64 bytes of
// the L2 cache, and 36 where all multiprocessors read (from published speeds of kernels with such
// tiles, not measured here). What is behind the products takes a cycle for each 8 elements.
static constexpr int64_t productsPerCycle = 2048, mostBytesPerCycle = 64, allBytesPerCycle = 36,
                         epilogueElements = 8;

StageRing HopperLinearTile::ring() const {
  StageRing ring;
  ring.bytes = stageBytes();
  ring.stages = std::min<int64_t>({(mostSharedBytes - barrierBytes - storeBytes()) / ring.bytes,
                                   consumers == 1 ? 12 : 6, std::max<int64_t>(2, steps)});
  ring.firstBarrier = 0, ring.firstStage = barrierBytes;
  return ring;
}

std::string HopperLinearTile::name() const {
  return std::to_string(rows()) + "x" + std::to_string(columns);
}

int64_t HopperLinearTile::sectionWidth(int64_t multiprocessors) const {
  // Rows and columns of a square of so many tiles.
  double wide = std::sqrt(double(multiprocessors * rows()) / double(columns));
  int64_t sections = std::max<int64_t>(1, across() / std::max<int64_t>(1, std::llround(wide)));
  return llvm::divideCeil(across(), sections);
}

namespace {
/// Arithmetic of whole numbers as IndexBuilder has it of values.
struct Numbers {
  int64_t constant(int64_t value) const { return value; }
  int64_t add(int64_t a, int64_t b) const { return a + b; }
  int64_t mul(int64_t a, int64_t b) const { return a * b; }
  int64_t div(int64_t a, int64_t b) const { return a / b; }
  int64_t ceilDiv(int64_t a, int64_t b) const { return llvm::divideCeil(a, b); }
  int64_t min(int64_t a, int64_t b) const { return std::min(a, b); }
  int64_t max(int64_t a, int64_t b) const { return std::max(a, b); }
};
} // namespace

/// Waves times the cycles of a tile.
template <typename Arithmetic, typename Number>
static Number cyclesOf(const HopperLinearTile &tile, const Arithmetic &of, Number rowCount,
                       int64_t multiprocessors) {
  int64_t elements = tile.rows() * tile.columns, bytes = tile.stageBytes();
  Number all = of.constant(multiprocessors);
  Number tiles = of.mul(of.ceilDiv(rowCount, of.constant(tile.rows())), of.constant(tile.across()));
  Number fromCache = of.div(of.mul(of.constant(bytes), of.min(tiles, all)),
                            of.constant(allBytesPerCycle * multiprocessors));
  int64_t least =
      std::max(elements * HopperLinearTile::depth / productsPerCycle, bytes / mostBytesPerCycle);
  Number products = of.mul(of.constant(tile.steps), of.max(of.constant(least), fromCache));
  return of.mul(of.ceilDiv(tiles, all), of.add(products, of.constant(elements / epilogueElements)));
}

int64_t HopperLinearTile::cycles(int64_t rowCount, int64_t multiprocessors) const {
  return cyclesOf(*this, Numbers(), rowCount, multiprocessors);
}

Value HopperLinearTile::cycles(IndexBuilder index, Value rowCount, int64_t multiprocessors) const {
  return cyclesOf(*this, index, rowCount, multiprocessors);
}

std::vector<HopperLinearTile> HopperLinearTile::all(const LinearShape &shape) {
  std::vector<HopperLinearTile> tiles;
  int64_t n = llvm::alignTo(shape.n, 32), steps = llvm::divideCeil(shape.k, depth);
  auto add = [&](int64_t consumers, int64_t columns) {
    HopperLinearTile tile{consumers, std::min(columns, n), shape.n, steps};
    if (tiles.empty() || tiles.back().consumers != consumers ||
        tiles.back().columns != tile.columns)
      tiles.push_back(tile);
  };
  for (int64_t columns : {256, 192, 128})
    add(2, columns);
  for (int64_t columns : {64, 32})
    add(1, columns);
  return tiles;
}

HopperLinearTile HopperLinearTile::best(ArrayRef<HopperLinearTile> tiles, int64_t rowCount,
                                        int64_t multiprocessors) {
  return *llvm::min_element(tiles, [&](const HopperLinearTile &a, const HopperLinearTile &b) {
    return a.cycles(rowCount, multiprocessors) < b.cycles(rowCount, multiprocessors);
  });
}
