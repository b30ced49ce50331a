// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/gpu/HopperLinearTile.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace attn;

// Of an H100: 2048 products and sums of halves in a cycle of a multiprocessor; 64 bytes of the L2
// cache, and 36 where all multiprocessors read (from published speeds of kernels with such tiles,
// not measured here). What is behind the products takes a cycle for each 8 elements.
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

int64_t HopperLinearTile::cycles(int64_t rowCount, int64_t multiprocessors) const {
  int64_t tiles = llvm::divideCeil(rowCount, rows()) * across();
  int64_t busy = std::min(tiles, multiprocessors),
          rounds = llvm::divideCeil(tiles, multiprocessors);
  int64_t products = rows() * columns * depth / productsPerCycle,
          alone = stageBytes() / mostBytesPerCycle,
          shared = stageBytes() * busy / (allBytesPerCycle * multiprocessors);
  int64_t epilogue = rows() * columns / epilogueElements;
  return rounds * (steps * std::max({products, alone, shared}) + epilogue);
}

Value HopperLinearTile::cycles(IndexBuilder index, Value rowCount, int64_t multiprocessors) const {
  auto constant = [&](int64_t value) { return index.constant(value); };
  Value tiles = index.mul(index.ceilDiv(rowCount, constant(rows())), constant(across()));
  Value busy = index.min(tiles, constant(multiprocessors)),
        rounds = index.ceilDiv(tiles, constant(multiprocessors));
  int64_t least =
      std::max(rows() * columns * depth / productsPerCycle, stageBytes() / mostBytesPerCycle);
  Value shared = index.div(index.mul(constant(stageBytes()), busy),
                           constant(allBytesPerCycle * multiprocessors));
  Value step = index.max(constant(least), shared);
  Value tile =
      index.add(index.mul(constant(steps), step), constant(rows() * columns / epilogueElements));
  return index.mul(rounds, tile);
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

/// What `chosen` cost over what `tiles` do, on the average over numbers of rows.
static double excess(ArrayRef<HopperLinearTile> chosen, ArrayRef<HopperLinearTile> tiles,
                     int64_t least, int64_t multiprocessors) {
  constexpr int64_t most = 1 << 16;
  double sum = 0;
  int64_t count = 0;
  for (int64_t rows = std::min(std::max<int64_t>(least, 16), most); rows <= most;
       rows += std::max<int64_t>(16, rows / 16), ++count) {
    auto cost = [&](ArrayRef<HopperLinearTile> of) {
      return double(
          HopperLinearTile::best(of, rows, multiprocessors).cycles(rows, multiprocessors));
    };
    sum += cost(chosen) / cost(tiles);
  }
  return sum / double(count);
}

std::vector<HopperLinearTile> HopperLinearTile::few(ArrayRef<HopperLinearTile> tiles, int64_t least,
                                                    int64_t multiprocessors) {
  constexpr size_t most = 4;
  constexpr double worthIt = 0.01; // of the time, another kernel
  std::vector<HopperLinearTile> chosen;
  double before = HUGE_VAL;
  while (chosen.size() < most) {
    std::pair<double, const HopperLinearTile *> best{HUGE_VAL, nullptr};
    for (const HopperLinearTile &tile : tiles) {
      std::vector<HopperLinearTile> with(chosen);
      with.push_back(tile);
      best = std::min(best, {excess(with, tiles, least, multiprocessors), &tile});
    }
    if (before - best.first < worthIt)
      break;
    before = best.first;
    chosen.push_back(*best.second);
  }
  llvm::sort(chosen, [](const HopperLinearTile &a, const HopperLinearTile &b) {
    return std::pair(a.consumers, a.columns) > std::pair(b.consumers, b.columns);
  });
  return chosen;
}
