// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cells have the colours of their values, wherever the layout has put them.
#include "Figure.h"
#include "ColourMap.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace attn;
using namespace attn::maps;

namespace {

Map mapOf(std::vector<Axis> axes, std::vector<double> values) {
  return {"w", std::move(axes), std::move(values), "", false};
}

/// How many pixels have this very colour.
int64_t count(const Canvas &canvas, Colour wanted) {
  int64_t pixels = 0;
  for (int y = 0; y < canvas.height(); ++y)
    for (int x = 0; x < canvas.width(); ++x) {
      Colour colour = canvas.at(x, y);
      pixels +=
          colour.red == wanted.red && colour.green == wanted.green && colour.blue == wanted.blue;
    }
  return pixels;
}

Canvas draw(const Map &map, const Pictures &pictures = {}) {
  Problem problem;
  std::optional<Canvas> canvas = drawFigure(map, pictures, problem);
  EXPECT_TRUE(canvas) << problem.text;
  return canvas ? *canvas : Canvas(1, 1);
}

} // namespace

TEST(Figure, EveryCellIsAsLargeAsTheOthers) {
  // 60 cells a side are too small for numbers in them.
  std::vector<double> values(60 * 60, 0);
  for (int i = 0; i < 7; ++i)
    values[size_t(i) * 61] = 1;
  Map map = mapOf({{"T", 60, 0, {}}, {"S", 60, 0, {}}}, values);
  Canvas canvas = draw(map);
  int64_t bright = count(canvas, colourOf(1)), dark = count(canvas, colourOf(0));
  EXPECT_EQ(bright % 7, 0);
  EXPECT_GE(dark, (60 * 60 - 7) * (bright / 7));
}

TEST(Figure, MaskedCellsAreHollow) {
  Map map = mapOf({{"T", 2, 0, {}}, {"S", 2, 0, {}}}, {0.5, -INFINITY, 0.5, 1});
  EXPECT_GT(count(draw(map), hollow), 400);
  map.values[1] = 0.25;
  EXPECT_EQ(count(draw(map), hollow), 0);
}

TEST(Figure, HeadsAreColumnsAndTheBatchIsRows) {
  std::vector<double> values(2 * 3 * 4 * 4, 0.5);
  Map map = mapOf({{"B", 2, 0, {}}, {"H", 3, 0, {}}, {"T", 4, 0, {}}, {"S", 4, 0, {}}}, values);
  Canvas both = draw(map);
  map.axes[0].size = 1;
  map.values.resize(3 * 4 * 4);
  Canvas one = draw(map);
  EXPECT_EQ(both.width(), one.width());
  EXPECT_GT(both.height(), one.height() + 100);
}

TEST(Figure, LongLabelsStandUpright) {
  Map map = mapOf({{"T", 4, 0, {}}, {"S", 4, 0, {}}}, std::vector<double>(16, 0.5));
  int plain = draw(map).height();
  map.axes[1].labels = {"internationalisation", "of", "the", "label"};
  EXPECT_GT(draw(map).height(), plain + 80);
}

TEST(Figure, PicturesStandInFrontOfTheirPanels) {
  Map map =
      mapOf({{"B", 2, 0, {}}, {"T", 4, 0, {}}, {"S", 4, 0, {}}}, std::vector<double>(32, 0.5));
  map.isGrid = true;
  Pictures pictures{2, 3, 2, 2, std::vector<double>(24, 0)};
  pictures.values[0] = 1; // the first picture's upper left pixel is red
  Canvas canvas = draw(map, pictures);
  EXPECT_GT(count(canvas, {255, 0, 0}), 1000);
  EXPECT_GT(count(canvas, {0, 0, 0}), 1000);
}

TEST(Figure, RefusesWhatIsTooLarge) {
  Problem problem;
  Map map = mapOf({{"H", 64, 0, {}}, {"T", 2000, 0, {}}, {"S", 2000, 0, {}}}, {});
  map.values.assign(size_t(64) * 2000 * 2000, 0);
  EXPECT_FALSE(drawFigure(map, {}, problem));
  EXPECT_NE(problem.text.find("64 panels of 2000 x 2000 cells"), std::string::npos);
}

TEST(Figure, ScalesAreMarkedAtRoundNumbers) {
  EXPECT_EQ(ticksOf(0, 1, 4), (std::vector<double>{0, 0.5, 1}));
  for (auto [least, most] : {std::pair(0.0, 0.0371), {-8.0, 23.0}, {0.0, 1e-12}, {0.0, 3e20}}) {
    std::vector<double> ticks = ticksOf(least, most, 4);
    EXPECT_GE(ticks.size(), 2u);
    EXPECT_LE(ticks.size(), 6u);
    for (double tick : ticks)
      EXPECT_TRUE(tick >= least - 1e-9 * most && tick <= most * (1 + 1e-9)) << tick;
  }
}
