// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps as text.
#include "Table.h"
#include "llvm/Support/Unicode.h"
#include "gtest/gtest.h"
#include <cmath>
#include <sstream>

using namespace attn::maps;

namespace {

Map alignment() {
  return {"weights",
          {{"T", 2, 0, {"the", "cat"}}, {"S", 3, 0, {"le", "petit", "chat"}}},
          {0.9, 0.0996, 0.0004, 0, 0.25, 0.75},
          "",
          false};
}

} // namespace

TEST(Table, SharesArePercentages) {
  EXPECT_EQ(tableOf(alignment(), {80, false, false}), "weights, in %\n"
                                                      "       le petit  chat\n"
                                                      "the    90    10    <1\n"
                                                      "cat     0    25    75\n");
}

TEST(Table, OtherNumbersAreThemselves) {
  Map map = alignment();
  map.values = {-INFINITY, 12.5, 1e-5, NAN, -3, 100000};
  std::string text = tableOf(map, {80, false, false});
  EXPECT_NE(text.find("-inf"), std::string::npos) << text;
  EXPECT_NE(text.find("12.5"), std::string::npos) << text;
  EXPECT_NE(text.find("1e-05"), std::string::npos) << text;
  EXPECT_EQ(text.find('%'), std::string::npos) << text;
}

TEST(Table, BlocksWhereNumbersDoNotFit) {
  Map map{"w", {{"T", 1, 0, {}}, {"S", 30, 0, {}}}, std::vector<double>(30, 0), "", false};
  map.values[3] = 1, map.values[5] = 0.5;
  EXPECT_EQ(tableOf(map, {40, false, false}), "w, each row up to its largest\n"
                                              "  0                           29\n"
                                              "0    # =\n");
  EXPECT_NE(tableOf(map, {40, true, false}).find("0    █ ▄\n"), std::string::npos);
}

TEST(Table, NoLineIsWiderThanTheTerminal) {
  for (int64_t keys : {1, 2, 7, 19, 20, 64, 333})
    for (int width : {20, 40, 79}) {
      Map map{"a name of some length",
              {{"H", 2, 0, {}},
               {"T", 3, 0, {"x", "été", "a long label, too long"}},
               {"S", keys, 0, {}}},
              {},
              ", mean over B",
              false};
      map.values.assign(size_t(6 * keys), 0.37);
      std::istringstream text(tableOf(map, {width, true, false}));
      int64_t lines = 0;
      for (std::string line; std::getline(text, line); ++lines)
        EXPECT_LE(llvm::sys::unicode::columnWidthUTF8(line), width) << keys << ": " << line;
      EXPECT_GE(lines, 8);
    }
}

TEST(Table, ColoursOnlyWhereAsked) {
  EXPECT_EQ(tableOf(alignment(), {80, true, false}).find('\x1b'), std::string::npos);
  EXPECT_NE(tableOf(alignment(), {80, true, true}).find("\x1b[48;2;"), std::string::npos);
}
