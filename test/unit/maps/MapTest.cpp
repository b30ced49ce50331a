// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is drawn of a tensor: labels, averages, one query, its keys as patches.
#include "Map.h"
#include "gtest/gtest.h"
#include <cmath>
#include <numeric>

using namespace attn::maps;

namespace {

/// [B, H, T, S] with 0, 1, 2, … in it.
Map counting(int64_t b, int64_t h, int64_t t, int64_t s) {
  Map map{"w", {{"B", b, 0, {}}, {"H", h, 0, {}}, {"T", t, 0, {}}, {"S", s, 0, {}}}, {}, "", false};
  map.values.resize(size_t(b * h * t * s));
  std::iota(map.values.begin(), map.values.end(), 0);
  return map;
}

} // namespace

TEST(Map, AveragesOverHeads) {
  Map map = counting(2, 3, 2, 2);
  MapOptions options;
  options.average = {"H"};
  ASSERT_FALSE(applyOptions(map, options));
  ASSERT_EQ(map.axes.size(), 3u);
  EXPECT_EQ(map.values, (std::vector<double>{4, 5, 6, 7, 16, 17, 18, 19}));
  EXPECT_EQ(map.panelName(1), "B 1");
}

TEST(Map, TakesItsRowsFromAnotherAxis) {
  Map map = counting(2, 2, 3, 2); // [B, H, T, S], rows of B: [H, T, B, S]
  MapOptions options;
  options.rows = "B";
  ASSERT_FALSE(applyOptions(map, options));
  EXPECT_EQ(map.axes[0].name, "H");
  EXPECT_EQ(map.axes[1].name, "T");
  EXPECT_EQ(map.rows().name, "B");
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t t = 0; t < 3; ++t)
      for (int64_t b = 0; b < 2; ++b)
        EXPECT_EQ(map.panel(h * 3 + t)[b * 2], double(((b * 2 + h) * 3 + t) * 2));
  options.average = {"H"};
  map = counting(2, 2, 3, 2);
  ASSERT_FALSE(applyOptions(map, options));
  EXPECT_EQ(map.panel(0)[0], 3); // of 0 and 6
  options.average = {"B"};
  EXPECT_TRUE(applyOptions(map, options));
}

TEST(Map, AveragesOverTheOuterAxis) {
  Map map = counting(2, 1, 1, 2);
  MapOptions options;
  options.average = {"B"};
  ASSERT_FALSE(applyOptions(map, options));
  EXPECT_EQ(map.values, (std::vector<double>{1, 2}));
}

TEST(Map, TakesTheLastKeysOfAQueryAsPatches) {
  Map map = counting(1, 2, 3, 7);
  MapOptions options;
  options.row = 1;
  options.grid = {2, 3};
  ASSERT_FALSE(applyOptions(map, options));
  EXPECT_EQ(map.rows().size, 2);
  EXPECT_EQ(map.columns().size, 3);
  EXPECT_EQ(map.values, (std::vector<double>{8, 9, 10, 11, 12, 13, 29, 30, 31, 32, 33, 34}));
  EXPECT_TRUE(map.isGrid);
}

TEST(Map, LabelsQueriesLikeKeysWhereTheyAreAsMany) {
  MapOptions options;
  options.labels = {{"", "tokens.txt", {"le", "chat"}}};
  Map self = counting(1, 1, 2, 2), cross = counting(1, 1, 3, 2);
  ASSERT_FALSE(applyOptions(self, options));
  EXPECT_EQ(self.rows().labels, self.columns().labels);
  ASSERT_FALSE(applyOptions(cross, options));
  EXPECT_TRUE(cross.rows().labels.empty());
  EXPECT_EQ(cross.columns().labels[1], "chat");
}

TEST(Map, KeepsTheLabelOfTheQueryThatIsTaken) {
  Map map = counting(1, 1, 2, 2);
  MapOptions options;
  options.labels = {{"T", "q.txt", {"one", "two"}}};
  options.row = 1;
  ASSERT_FALSE(applyOptions(map, options));
  EXPECT_EQ(map.rows().labels, std::vector<std::string>{"two"});
  EXPECT_EQ(map.values, (std::vector<double>{2, 3}));
}

TEST(Map, SaysWhatDoesNotFit) {
  auto problemOf = [](const MapOptions &options) {
    Map map = counting(1, 2, 3, 4);
    return applyOptions(map, options);
  };
  MapOptions options;
  options.average = {"Q"};
  EXPECT_NE(problemOf(options).text.find("no axis `Q`"), std::string::npos);
  options.average = {"S"};
  EXPECT_NE(problemOf(options).text.find("rows and columns are drawn"), std::string::npos);
  options = {};
  options.row = 3;
  EXPECT_NE(problemOf(options).text.find("has 3 queries"), std::string::npos);
  options = {};
  options.grid = {2, 3};
  EXPECT_NE(problemOf(options).text.find("needs 6 keys"), std::string::npos);
  options = {};
  options.labels = {{"", "tokens.txt", {"a", "b", "c"}}};
  Problem problem = problemOf(options);
  EXPECT_EQ(problem.text, "`tokens.txt` has 3 labels, but axis `S` of `w` has 4 elements");
  EXPECT_FALSE(problem.isUsage);
  Map vector{"v", {{"K", 4, 0, {}}}, {1, 2, 3, 4}, "", false};
  EXPECT_NE(applyOptions(vector, {}).text.find("one axis"), std::string::npos);
}

TEST(Map, RangeLeavesOutWhatIsNotFinite) {
  auto range = [](std::vector<double> values) {
    return rangeOf(values.data(), int64_t(values.size()));
  };
  EXPECT_EQ(range({0.25, -INFINITY, 0.5}), (std::pair<double, double>{0, 0.5}));
  EXPECT_EQ(range({-2, NAN, 3}), (std::pair<double, double>{-2, 3}));
  EXPECT_EQ(range({NAN, NAN, NAN}), (std::pair<double, double>{0, 1}));
}
