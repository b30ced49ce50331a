// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears whose panels are bytes or halves, on CPUs and GPUs.
#include "test/unit/kernels/LinearKernelTest.h"

namespace attn::test {
namespace {

/// Products of bytes and of bf16 rows, for which there are levels more. Code for tile registers is
/// run with functions in the place of their instructions, and by a CPU that has them.
class ByteKernelTest : public LinearKernelTest {
protected:
  /// Whether rows of bf16 are multiplied as such.
  static bool multipliesPairs() {
    const CpuTarget *target = CpuTarget::find(GetParam());
    return target && target->multipliesPairs();
  }

  /// Where there are such, they have scratch, and two groups of rows, and parts of k.
  static std::vector<LinearCase> withTileRegisters(std::vector<LinearCase> cases) {
    if (!llvm::StringRef(GetParam()).starts_with("amx"))
      return cases;
    int64_t inParts = cases[0].panels == Panels::Int8 ? 3328 : 1664;
    LinearCase deep(300, inParts, 101, Epilogue::Residual), shallow(257, 448, 96, Epilogue::Gelu);
    LinearCase unknown = deep, inPlace = deep;
    unknown.dynamic = true;
    inPlace.isInPlace = !cases[0].isOfBits;
    for (LinearCase test : {deep, unknown, inPlace, shallow}) {
      test.panels = cases[0].panels, test.isRounded = cases[0].isRounded;
      test.isNarrow = cases[0].isNarrow, test.isOfBits = cases[0].isOfBits;
      cases.push_back(test);
    }
    for (LinearCase &test : cases)
      test.hasRoom = true;
    return cases;
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, ByteKernelTest,
                         testing::Values("x86-64-v3", "avxvnni", "x86-64-v4", "vnni", "avx512bf16",
                                         "amx-emulated", "amx", "neon", "neon-i8mm", "sm_80",
                                         "sm_90a"));

TEST_P(ByteKernelTest, FewRows) {
  if (!KernelRunner::isGpu(GetParam()))
    GTEST_SKIP() << "a CPU has no kernel of its own for them";
  check(fewRowsOf(Panels::Int8, 4));
  check(fewRowsOf(Panels::Int8Groups, 32));
  check(fewRowsOf(Panels::Int4, 32));
  check(fewRowsOf(Panels::Int4Groups, 32));
}

TEST_P(ByteKernelTest, PanelsOfInt8) { check(withTileRegisters(casesOf(Panels::Int8, 4, random))); }

TEST_P(ByteKernelTest, PanelsOfInt8Groups) { check(casesOf(Panels::Int8Groups, 32, random)); }

TEST_P(ByteKernelTest, PanelsOfInt4) { check(casesOf(Panels::Int4, 32, random)); }

TEST_P(ByteKernelTest, PanelsOfInt4Groups) { check(casesOf(Panels::Int4Groups, 32, random)); }

/// Many rows, and room for panels as int8: those of int4 become it, those of int8 in groups where
/// there are tile registers.
static std::vector<LinearCase> withRoom(Panels panels, bool areBytes) {
  std::vector<LinearCase> cases;
  for (auto [rows, k, n] : {std::tuple(25, 32, 1),
                            {31, 96, 53},
                            {197, 1056, 100},
                            {64, 64, 96},
                            {300, 3328, 101},
                            {257, 448, 96},
                            {33, 6400, 49}})
    cases.emplace_back(rows, k, n, Epilogue(k / 32 % 5));
  for (int64_t rows : {25, 70, 290}) { // few or many, as is known when running
    cases.emplace_back(rows, 3232, 70, Epilogue::Residual);
    cases.back().dynamic = true;
  }
  cases.emplace_back(100, 1600, 70, Epilogue::Residual);
  cases.back().isInPlace = true;
  for (LinearCase &test : cases)
    test.panels = panels, test.hasRoom = true, test.areBytes = areBytes;
  return cases;
}

TEST_P(ByteKernelTest, GroupsOfManyRows) {
  if (KernelRunner::isGpu(GetParam()))
    GTEST_SKIP() << "has no room";
  const CpuTarget &target = *CpuTarget::find(GetParam());
  bool widensHalves = target.amx || !target.dotBytes.empty();
  check(withRoom(Panels::Int4, widensHalves));
  check(withRoom(Panels::Int4Groups, widensHalves));
  check(withRoom(Panels::Int8Groups, target.amx));
}

/// What is one row when running, of many that there may be.
TEST_P(ByteKernelTest, FewOfManyRowsOfGroups) {
  for (Panels panels : {Panels::Int8Groups, Panels::Int4, Panels::Int4Groups}) {
    LinearCase test(1, 3232, 70, Epilogue::Gelu);
    test.panels = panels, test.hasRoom = test.dynamic = true;
    auto runner = KernelRunner::create(test.text("f"), GetParam());
    ASSERT_TRUE(runner);
    for (int64_t rows : {1, 3, 8}) {
      LinearCase sized(rows, 3232, 70, Epilogue::Gelu);
      sized.panels = panels, sized.hasRoom = true;
      run(*runner, "f", sized);
    }
  }
}

TEST_P(ByteKernelTest, RowsRoundedToBf16) {
  if (!multipliesPairs())
    GTEST_SKIP() << "reads f32 rows, or bf16 ones alone";
  std::vector<LinearCase> cases = casesOf(Panels::BF16, 2, random);
  for (LinearCase &test : cases)
    test.isRounded = true;
  check(withTileRegisters(cases));
}

TEST_P(ByteKernelTest, RowsOfBf16ToRowsOfBf16) {
  llvm::StringRef level = GetParam();
  if (!multipliesPairs())
    GTEST_SKIP() << "does not multiply such rows";
  std::vector<LinearCase> cases = casesOf(Panels::BF16, 32, random);
  llvm::erase_if(cases, [](const LinearCase &test) { return test.depth() > 8192; });
  for (LinearCase &test : cases) {
    test.isRounded = test.isNarrow = test.isOfBits = true;
    // Up to 8 rows are multiplied as f32 where there are tile registers.
    if (test.rows() <= 8 && level.starts_with("amx"))
      test.dynamic = true;
  }
  check(withTileRegisters(cases));
}

/// As attentions in pairs of bf16 read them.
TEST_P(ByteKernelTest, BytesToRowsOfBf16) {
  if (!multipliesPairs())
    GTEST_SKIP() << "does not multiply pairs";
  for (Panels panels : {Panels::Int8, Panels::Int8Groups, Panels::Int4, Panels::Int4Groups}) {
    LinearCase test(37, 96, 101);
    test.panels = panels, test.isOfBits = true;
    check(panels == Panels::Int8 ? withTileRegisters({test}) : std::vector{test});
  }
}

TEST_P(ByteKernelTest, LargestBytesDoNotSaturate) {
  struct {
    Panels panels;
    int64_t rows; // of groups so few that panels are not rounded once more
    double bound; // sums of 96 groups are rounded to 24 bits each
  } cases[] = {{Panels::Int8, 9, 1e-6}, {Panels::Int4Groups, 8, 6e-6}};
  for (auto [panels, rows, bound] : cases) {
    LinearCase test(rows, 3072, 50);
    test.panels = panels;
    test.hasRoom = true;
    LinearData data(test, random);
    for (float &value : data.in)
      value = 1000;
    for (float &value : data.panels)
      value = -1000;
    data.store();
    auto runner = KernelRunner::create(test.text("f"), GetParam());
    ASSERT_TRUE(runner);
    std::vector<float> out = outputs(*runner, "f", test, data, 1);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < 50; ++column) {
        double sum = data.expected(row, column).first;
        EXPECT_NEAR(out[row * 50 + column], sum, bound * std::abs(sum) + 1e-6);
      }
  }
}

/// Panels of halves, whose rows are f32 on CPUs and halves on GPUs.
class HalfKernelTest : public LinearKernelTest {
protected:
  void checkPanels(Panels panels) {
    std::vector<LinearCase> cases = casesOf(panels, 2, random);
    if (KernelRunner::isGpu(GetParam())) {
      for (LinearCase &test : cases)
        test.isRounded = test.isNarrow = true;
      return check(cases);
    }
    for (LinearCase test : {patches(2, 3, 4, 5, 4), patches(1, 3, 7, 7, 16)}) {
      test.panels = panels;
      cases.push_back(test);
    }
    for (size_t i = 0, count = cases.size(); i < count; ++i) { // parts of panels widened, too
      cases.push_back(cases[i]);
      cases.back().hasRoom = true;
    }
    check(cases);
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, HalfKernelTest,
                         testing::Values("x86-64-v3", "x86-64-v4", "neon", "sm_80"));

TEST_P(HalfKernelTest, PanelsOfBf16) { checkPanels(Panels::BF16); }
TEST_P(HalfKernelTest, PanelsOfF16) { checkPanels(Panels::F16); }

} // namespace
} // namespace attn::test
