// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of measured choices, and the sizes that choices and their absence give.
#include "compiler/transforms/Tuning.h"
#include "compiler/cpu/TunableKernels.h"
#include <gtest/gtest.h>
#include <random>

namespace attn::test {
namespace {

/// What parsing says, or nothing.
std::string problemOf(const std::string &text) {
  auto tuning = Tuning::parse(text);
  return tuning ? "" : llvm::toString(tuning.takeError());
}

std::string kernel(const std::string &fields) {
  return "{\"version\": 1, \"kernels\": [{" + fields + "}]}";
}

Tuning example() {
  Tuning tuning;
  tuning.set(
      {"a CPU", "x86-64-v4", "linear \"f32\"", 2, {{{Knob::Rows, 6}, {Knob::Group, 96}}}, 70, 60});
  tuning.set({"", "x86-64-v3", "attention", 1, {{{Knob::Lowering, 2}, {Knob::Keys, 32}}}, 0, 0});
  tuning.set({"a CPU", "x86-64-v3", "attention", 1, {}, 5, 5});
  return tuning;
}

TEST(TuningTest, WhatIsPrintedIsReadBack) {
  std::string text = example().print();
  auto read = Tuning::parse(text);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->print(), text);
  EXPECT_EQ(Tuning().print(), llvm::cantFail(Tuning::parse(Tuning().print())).print());
}

TEST(TuningTest, ALaterEntryOfTheSameKernelReplaces) {
  Tuning tuning = example();
  tuning.set({"a CPU", "x86-64-v4", "linear \"f32\"", 1, {{{Knob::Rows, 9}}}, 1, 1});
  EXPECT_EQ(tuning.kernels.size(), 3u);
  EXPECT_EQ(tuning.choicesFor("a CPU")["x86-64-v4"]["linear \"f32\""],
            (KernelChoice{{{Knob::Rows, 9}}}));
}

TEST(TuningTest, EntriesOfTheCpuComeBeforeThoseOfAll) {
  EXPECT_TRUE(example().choicesFor("a CPU")["x86-64-v3"]["attention"].empty());
  EXPECT_EQ(choiceText(example().choicesFor("another")["x86-64-v3"]["attention"]),
            "keys 32, lowering unfused");
  EXPECT_EQ(example().choicesFor("another").count("x86-64-v4"), 0u);
}

TEST(TuningTest, ProblemsSayTheirPlace) {
  const std::string start = "\"level\": \"amx\", \"kernel\": \"a\", ";
  EXPECT_EQ(problemOf("[]"),
            "the file: expected an object with \"version\" and \"kernels\", but got []");
  EXPECT_EQ(problemOf("{\"kernels\": []}"), "version: expected 1, but there is none");
  EXPECT_EQ(problemOf("{\"version\": 1}"), "kernels: expected an array, but there is none");
  EXPECT_EQ(problemOf(kernel("\"level\": 3")), "kernels[0].level: expected a text, but got 3");
  EXPECT_EQ(problemOf(kernel("\"level\": \"amx\"")),
            "kernels[0].kernel: expected a text, but there is none");
  EXPECT_EQ(problemOf(kernel(start + "\"choice\": []")),
            "kernels[0].choice: expected an object of knobs and their values, but got []");
  EXPECT_EQ(problemOf(kernel(start + "\"choice\": {\"unroll\": 2.5}")),
            "kernels[0].choice.unroll: expected 1 to 8, but got 2.5");
  EXPECT_EQ(problemOf(kernel(start + "\"choice\": {}, \"ns\": -1")),
            "kernels[0].ns: expected 0 to 4611686018427387904, but got -1");
  EXPECT_EQ(problemOf(kernel(start + "\"choice\": {}")), "");
}

TEST(TuningTest, DamagedFilesAreReadOrRefused) {
  constexpr unsigned seed = 3;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 engine(seed);
  const std::string text = example().print(), characters = "{}[]\",:0-9e\\x";
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = text;
    for (unsigned i = 0; i <= engine() % 3; ++i)
      damaged[engine() % damaged.size()] = characters[engine() % characters.size()];
    if (auto read = Tuning::parse(damaged)) {
      std::string again = read->print();
      EXPECT_EQ(llvm::cantFail(Tuning::parse(again)).print(), again);
    } else
      EXPECT_NE(llvm::toString(read.takeError()), "");
  }
}

LinearShape linear(llvm::SmallVector<int64_t, 3> ks, int64_t n, Precision precision) {
  int64_t k = 1;
  for (int64_t size : ks)
    k *= size;
  return {{},         n,
          ks,         k,
          panelWidth, (n + panelWidth - 1) / panelWidth,
          precision,  precision == Precision::BF16};
}

TEST(LinearTilingTest, DefaultsOfTheModel) {
  CpuTarget v3 = *CpuTarget::find("x86-64-v3"), v4 = *CpuTarget::find("x86-64-v4");
  LinearShape deep = linear({3072}, 768, Precision::F32);
  LinearTiling wide = LinearTiling::of(deep, v4, {}, std::nullopt);
  EXPECT_EQ(std::tuple(wide.rows, wide.columns, wide.depth, wide.groupBlocks, wide.unroll),
            std::tuple(8, 48, 768, 25, 4));
  LinearTiling narrow = LinearTiling::of(deep, v3, {}, std::nullopt);
  EXPECT_EQ(std::tuple(narrow.rows, narrow.columns, narrow.groupBlocks), std::tuple(4, 24, 50));
  EXPECT_EQ(LinearTiling::of(linear({3072}, 768, Precision::BF16), v4, {}, 197).depth, 384);
  EXPECT_EQ(LinearTiling::of(deep, v4, {}, 8).depth, 3072);
}

TEST(TunableKernelTest, AlternativesAreInRangeAndDiffer) {
  TunableKernel kernel;
  kernel.rows = 197;
  kernel.linear = linear({3072}, 768, Precision::F32);
  for (const char *level : {"x86-64-v3", "x86-64-v4"}) {
    kernel.target = *CpuTarget::find(level);
    auto tilingOf = [&](const KernelChoice &choice) {
      return LinearTiling::of(*kernel.linear, kernel.target, choice, std::nullopt);
    };
    for (Knob knob : kernel.knobs()) {
      auto values = kernel.alternatives(knob, {});
      EXPECT_FALSE(values.empty()) << knobName(knob).str();
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_TRUE(rangeOf(knob, level).holds(values[i])) << knobName(knob).str();
        LinearTiling own = tilingOf({{{knob, values[i]}}});
        EXPECT_FALSE(own.isSameFor(tilingOf({}), kernel.rows)) << knobName(knob).str();
        for (size_t j = 0; j < i; ++j)
          EXPECT_FALSE(own.isSameFor(tilingOf({{{knob, values[j]}}}), kernel.rows));
      }
    }
  }
  kernel.linear = linear({64}, 48, Precision::F32);
  EXPECT_TRUE(kernel.alternatives(Knob::Steps, {}).empty());
}

} // namespace
} // namespace attn::test
