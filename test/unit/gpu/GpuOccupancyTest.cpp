// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of a multiprocessor against values of NVIDIA's occupancy calculator.
#include "compiler/target/GpuOccupancy.h"
#include <gtest/gtest.h>

using namespace attn;

namespace {

struct Case {
  const char *chip;
  int64_t threads, registers, sharedBytes, launched, blocks;
  const char *limit;
};

TEST(GpuOccupancyTest, IsLimitedByWhatThereIsNoMoreOf) {
  const Case cases[] = {
      {"sm_90a", 128, 255, 44032, 8, 2, "registers"},
      {"sm_90a", 128, 64, 44032, 8, 5, "shared memory"},
      {"sm_80", 128, 64, 44032, 8, 3, "shared memory"},
      {"sm_80", 256, 24, 0, 32, 8, "threads"},
      {"sm_80", 256, 37, 0, 32, 6, "registers"}, // 40 a thread by warps: 1280 of 65536
      {"sm_80", 32, 16, 0, 64, 32, "blocks"},
      {"sm_90a", 384, 168, 200000, 1, 1, "as launched"},
      {"sm_90a", 128, 168, 96, 8, 3, "registers"},
      {"sm_80", 1024, 65, 0, 8, 0, "registers"},
  };
  for (const Case &own : cases) {
    const GpuTarget *chip = GpuTarget::find(own.chip);
    ASSERT_TRUE(chip);
    Occupancy got =
        Occupancy::of(*chip, {own.threads, own.registers, own.sharedBytes, own.launched});
    EXPECT_EQ(own.blocks, got.blocks) << own.chip << ' ' << own.threads << ' ' << own.registers;
    EXPECT_EQ(own.limit, got.limit.str()) << own.chip << ' ' << own.threads << ' ' << own.registers;
  }
}

TEST(GpuOccupancyTest, NeedsNoRegistersBeforeTheAssembler) {
  Occupancy got = Occupancy::of(*GpuTarget::find("sm_90a"), {128, std::nullopt, 44032, 8});
  EXPECT_EQ(5, got.blocks);
  EXPECT_EQ("shared memory", got.limit.str());
}

} // namespace
