// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tiles Hopper's linears take, and how they fill the multiprocessors of an H100.
#include "compiler/gpu/linear/HopperLinearTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace attn::test {
namespace {

constexpr int64_t multiprocessors = 132;

std::vector<HopperLinearTile> tilesOf(int64_t k, int64_t n) {
  LinearShape shape{};
  shape.n = n, shape.k = k;
  return HopperLinearTile::all(shape);
}

std::string chosen(int64_t rows, int64_t k, int64_t n) {
  return HopperLinearTile::best(tilesOf(k, n), rows, multiprocessors).name();
}

// Those of tools/bench/gpu, ViT-B/16 of 64 pictures, 8 and 1, BERT-base and GPT-2 of 16 x 512 and
// 512 tokens; the table is that of compiler/gpu/notes/estimates.md.
TEST(HopperLinearTileTest, ShapesOfTheBenchmark) {
  EXPECT_EQ(chosen(64 * 197, 768, 2304), "128x256"); // 6.75 waves
  EXPECT_EQ(chosen(64 * 197, 768, 768), "128x192");  // 3.00, where 128x128 has 4.50
  EXPECT_EQ(chosen(64 * 197, 768, 3072), "128x256"); // 9.00
  EXPECT_EQ(chosen(64 * 197, 3072, 768), "128x192");
  EXPECT_EQ(chosen(8 * 197, 768, 768), "128x128");  // 0.59
  EXPECT_EQ(chosen(8 * 197, 768, 3072), "128x192"); // 1.58
  EXPECT_EQ(chosen(197, 768, 768), "64x32");        // 0.73
  EXPECT_EQ(chosen(197, 768, 3072), "128x128");     // 0.36
  EXPECT_EQ(chosen(512, 768, 2304), "128x128");     // 0.55, where 64x64 has 2.18
  EXPECT_EQ(chosen(512, 3072, 768), "64x64");       // 0.73, where 64x32 has 1.45
  EXPECT_EQ(chosen(16 * 512, 768, 3072), "128x256");
  EXPECT_EQ(chosen(8192, 8192, 8192), "128x256");
}

// Columns are never more than there are, and memory is enough.
TEST(HopperLinearTileTest, TilesOfAnySize) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    int64_t n = std::uniform_int_distribution<int64_t>(1, 4000)(random),
            k = std::uniform_int_distribution<int64_t>(1, 9000)(random);
    std::vector<HopperLinearTile> tiles = tilesOf(k, n);
    ASSERT_FALSE(tiles.empty());
    for (const HopperLinearTile &tile : tiles) {
      EXPECT_LE(tile.columns, int64_t(llvm::alignTo(n, 32)));
      EXPECT_GE(tile.across() * tile.columns, n);
      EXPECT_LE(tile.sharedBytes(), mostSharedBytes);
      EXPECT_GE(tile.ring().stages, 2);
      int64_t width = tile.sectionWidth(multiprocessors);
      EXPECT_GE(width, 1);
      EXPECT_LE(width, tile.across());
    }
  }
}

// What the host computes is what the compiler would.
TEST(HopperLinearTileTest, CyclesAsOpsOfTheHost) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect>();
  OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  IndexBuilder index(builder, module->getLoc());
  for (int64_t rows : {1, 64, 65, 197, 512, 1576, 12608})
    for (const HopperLinearTile &tile : tilesOf(768, 2304))
      EXPECT_EQ(constantIndex(tile.cycles(index, index.constant(rows), multiprocessors)),
                tile.cycles(rows, multiprocessors))
          << tile.name() << " of " << rows;
}

} // namespace
} // namespace attn::test
