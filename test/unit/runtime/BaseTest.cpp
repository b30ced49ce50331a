// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory for strings, blocks of pages, and the features of CPUs.
#include "attn/abi.h"
#include "base/Arena.h"
#include "base/Features.h"
#include "base/PageBlock.h"
#include <cstdio>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <vector>

using namespace attn;

TEST(ArenaTest, CopiesStayWhereTheyAre) {
  Arena arena;
  std::vector<std::string> texts;
  std::vector<char *> copies;
  for (size_t size : {0, 1, 7, 16383, 16384, 40000, 3, 9000, 9000, 0}) {
    texts.push_back(std::string(size, char('a' + texts.size())));
    copies.push_back(arena.copy(texts.back().data(), size));
    ASSERT_NE(nullptr, copies.back());
  }
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_STREQ(texts[i].c_str(), copies[i]);
}

TEST(ArenaTest, CopiesBytesWithoutTheirEnd) {
  Arena arena;
  char bytes[] = {'h', 'e', 'a', 'd', '!'};
  EXPECT_STREQ("head", arena.copy(bytes, 4));
}

// test/aarch64/runtime.test looks at the line for CPUs that QEMU emulates.
TEST(FeaturesTest, OfOneArchitectureOnly) {
  printf("features of AArch64: %s%s%s%s%s.\n", armFeatures() & ArmSimd ? "simd " : "",
         armFeatures() & ArmHalf ? "half " : "",
         armFeatures() & ArmDotProduct ? "dot-product " : "",
         armFeatures() & ArmInt8Matrix ? "int8-matrix " : "",
         armFeatures() & ArmBfloat16 ? "bfloat16 " : "");
#if defined(__aarch64__)
  EXPECT_TRUE(armFeatures() & ArmSimd) << "every CPU that Linux runs on has it";
  EXPECT_FALSE(hasLevel(ATTN_LEVEL_X86_64_V3));
  EXPECT_EQ(bool(armFeatures() & ArmDotProduct), hasLevel(ATTN_LEVEL_NEON));
  EXPECT_EQ(hasLevel(ATTN_LEVEL_NEON) && armFeatures() & ArmInt8Matrix &&
                armFeatures() & ArmBfloat16,
            hasLevel(ATTN_LEVEL_NEON_I8MM));
#else
  EXPECT_EQ(0u, armFeatures());
  EXPECT_FALSE(hasLevel(ATTN_LEVEL_NEON));
#endif
}

TEST(FeaturesTest, CpuHasAName) {
  char name[64];
  cpuName(name);
  EXPECT_STRNE("", name);
}

TEST(PageBlockTest, BlocksAreAlignedZeroAndReplaceable) {
  PageBlock block;
  for (uint64_t bytes : {uint64_t(1), uint64_t(5000), uint64_t(2) << 20, uint64_t(5) << 20}) {
    ASSERT_TRUE(block.allocate(bytes));
    EXPECT_GE(block.size(), bytes);
    EXPECT_EQ(0u, uintptr_t(block.data()) % (bytes < (2u << 20) ? 4096 : 2 << 20));
    EXPECT_EQ(0, block.data()[0] | block.data()[bytes - 1]);
    block.data()[bytes - 1] = 1;
  }
  // Of small pages, those are there that were written.
  constexpr size_t bytes = 8 << 20, pages = bytes / 4096;
  ASSERT_TRUE(block.allocate(bytes, PageBlock::Pages::Small));
  block.data()[5 << 20] = 1;
  unsigned char areThere[pages];
  ASSERT_EQ(0, mincore(block.data(), bytes, areThere));
  size_t count = 0;
  for (unsigned char isThere : areThere)
    count += isThere & 1;
  EXPECT_EQ(1u, count);
  EXPECT_FALSE(block.allocate(UINT64_MAX / 2 - 4096));
  EXPECT_EQ(nullptr, block.data());
}
