// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How even the shares of blocks of a causal attention are, by the numbering that kernels have: it
// is built of constants here, which fold.
#include "compiler/gpu/threads/UnitOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace mlir;

namespace attn::test {
namespace {

struct Shape {
  int64_t heads, tokens, features;
};

class UnitOrderTest : public testing::Test {
protected:
  static constexpr int64_t tile = 128; // rows and keys

  UnitOrderTest() : module(ModuleOp::create(UnknownLoc::get(&context))) {
    context.loadDialect<arith::ArithDialect>();
  }
  ~UnitOrderTest() override { module->erase(); }

  static int64_t number(Value value) {
    APInt found;
    EXPECT_TRUE(matchPattern(value, m_ConstantInt(&found)));
    return found.getZExtValue();
  }

  /// Units (head, row) of each block, in their order.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> sharesOf(Shape shape, int64_t blocks) {
    std::vector<std::vector<std::pair<int64_t, int64_t>>> shares(blocks);
    for (int64_t block = 0; block < blocks; ++block) {
      OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
      Integers integers(builder, module.getLoc());
      Value down = integers.constant(llvm::divideCeil(shape.tokens, tile));
      UnitOrder order(integers, integers.constant(shape.heads), down,
                      integers.constant(shape.tokens), 4 * shape.features);
      Value own = integers.constant(block), all = integers.constant(blocks);
      int64_t rounds = number(order.roundsOf(own, all));
      for (int64_t round = 0; round < rounds; ++round) {
        UnitOrder::Unit unit = order.at(own, all, integers.constant(round));
        shares[block].push_back({number(unit.head), number(unit.row)});
      }
      module.getBody()->clear();
    }
    return shares;
  }

  MLIRContext context;
  ModuleOp module;
};

TEST_F(UnitOrderTest, EveryUnitIsTakenOnce) {
  for (Shape shape :
       {Shape{1, 100, 64}, {3, 1000, 64}, {70, 600, 64}, {192, 2048, 128}, {67, 4096, 256}})
    for (int64_t blocks : {1, 2, 5, 132}) {
      std::set<std::pair<int64_t, int64_t>> found;
      size_t count = 0;
      for (auto &share : sharesOf(shape, blocks))
        found.insert(share.begin(), share.end()), count += share.size();
      auto down = int64_t(llvm::divideCeil(shape.tokens, tile));
      EXPECT_EQ(count, size_t(shape.heads * down)) << shape.heads << " " << blocks;
      EXPECT_EQ(found.size(), count) << shape.heads << " " << blocks;
      EXPECT_EQ(found.rbegin()->first, shape.heads - 1);
    }
}

// A unit costs its tiles of keys, and one for what begins and ends it.
TEST_F(UnitOrderTest, BusiestMultiprocessorHasLittleMoreThanTheMean) {
  for (Shape shape : {Shape{384, 197, 64},
                      {128, 2048, 64},
                      {64, 2048, 80},
                      {64, 2048, 128},
                      {32, 8192, 64},
                      {16, 8192, 128},
                      {96, 512, 64},
                      {32, 4096, 128},
                      {32, 8192, 128},
                      {192, 8192, 128},
                      {16, 16384, 128}}) {
    std::vector<double> loads;
    for (auto &share : sharesOf(shape, 132)) {
      double &load = loads.emplace_back();
      for (auto [head, row] : share)
        load += double(llvm::divideCeil(std::min((row + 1) * tile, shape.tokens), tile)) + 1;
    }
    double mean = std::accumulate(loads.begin(), loads.end(), 0.0) / double(loads.size());
    double busiest = *std::max_element(loads.begin(), loads.end()) / mean;
    // Loads are whole: 96 heads of 512 cannot be below 11, which is 1.0804 of their mean.
    EXPECT_LE(busiest, std::max(1.08, std::ceil(mean) / mean))
        << shape.heads << " heads of " << shape.tokens << " x " << shape.features;
    std::printf("%3d heads of %5d x %3d: busiest over mean %.3f\n", int(shape.heads),
                int(shape.tokens), int(shape.features), busiest);
  }
}

} // namespace
} // namespace attn::test
