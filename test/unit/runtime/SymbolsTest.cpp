// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's archives need no libstdc++, hold no path of the machine that built them, and an
// executable linked from them by the C compiler needs libc, libm and the loader only.
#include "TestSupport.h"
#include <gtest/gtest.h>
#include <sstream>

using namespace attn::test;

static std::string archive(const char *name) {
  return std::string(ATTN_TEST_LIBRARIES) + "/lib" + name + ".a";
}

/// All that programs are linked from.
static constexpr const char *archives[] = {"attn_rt",   "attn_image", "attn_sound",  "attn_drawing",
                                           "attn_text", "attn_main",  "attn_prompt", "attn_serve"};

TEST(SymbolsTest, NoneOfLibstdcxx) {
  for (const char *name : archives) {
    Finished nm = shell("nm -A " + archive(name));
    ASSERT_EQ(0, nm.code) << nm.text;
    std::istringstream lines(nm.text);
    std::string line;
    while (std::getline(lines, line))
      for (const char *bad : {" _Zn", " _Zd", "__cxa_", "__gxx_", "_ZSt", "_ZNSt", "_ZNKSt",
                              "_Unwind_", "__dso_handle", " _ZGV", "_ZTI", "_ZTV"})
        EXPECT_EQ(std::string::npos, line.find(bad)) << line;
  }
}

TEST(SymbolsTest, RuntimeDoesNotNeedImages) {
  Finished nm = shell("nm -u " + archive("attn_rt") + " " + archive("attn_main"));
  ASSERT_EQ(0, nm.code);
  for (const char *bad : {"png_", "jpeg_", "inflate", "FLAC__", "pcre2_", "utf8proc_", "evhttp_"})
    EXPECT_EQ(std::string::npos, nm.text.find(bad));
  EXPECT_NE(std::string::npos, nm.text.find("w attn_image_load")) << "only weakly";
  EXPECT_NE(std::string::npos, nm.text.find("w attn_sound_load")) << "only weakly";
}

TEST(SymbolsTest, NeverExitsOrKeepsState) {
  Finished nm = shell("nm " + archive("attn_rt") + " " + archive("attn_text"));
  std::istringstream lines(nm.text);
  std::string line;
  while (std::getline(lines, line)) {
    for (const char *bad : {" U exit", " U abort", " U printf", " U puts", " U stderr", " U stdout",
                            " U fprintf", " U __assert_fail"})
      EXPECT_EQ(std::string::npos, line.find(bad)) << line;
  }
  // Writable data would be state that all models share. Constants that hold addresses are written
  // once, by the loader.
  nm = shell("objdump -t " + archive("attn_rt") + " " + archive("attn_text"));
  std::istringstream symbols(nm.text);
  int count = 0;
  for (; std::getline(symbols, line); ++count) {
    bool isConstant = line.find(".data.rel.ro") != std::string::npos;
    bool isWritable =
        line.find(" .data") != std::string::npos || line.find(" .bss") != std::string::npos;
    EXPECT_TRUE(isConstant || !isWritable) << line;
  }
  EXPECT_GT(count, 1000);
}

TEST(SymbolsTest, ArchivesHoldNoAbsolutePath) {
  for (const char *name : archives) {
    std::string bytes = readText(archive(name));
    ASSERT_FALSE(bytes.empty());
    EXPECT_EQ(std::string::npos, bytes.find(ATTN_TEST_SOURCES "/../../..")) << name;
    std::string sources = ATTN_TEST_SOURCES; // .../test/unit/runtime
    sources.resize(sources.size() - sizeof("/test/unit/runtime") + 1);
    EXPECT_EQ(std::string::npos, bytes.find(sources)) << name;
  }
}

TEST(SymbolsTest, ExecutableNeedsOnlyTheCLibrary) {
  Finished elf = shell("readelf -d " ATTN_TEST_TINY " | grep NEEDED");
  std::istringstream lines(elf.text);
  std::string line;
  while (std::getline(lines, line)) {
    bool isAllowed = line.find("libc.so") != std::string::npos ||
                     line.find("libm.so") != std::string::npos ||
                     line.find("ld-linux") != std::string::npos;
    EXPECT_TRUE(isAllowed) << line;
  }
}
