// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Letters and colours.
#include "Canvas.h"
#include "ColourMap.h"
#include "io/image/Font.h"
#include "gtest/gtest.h"
#include <array>
#include <cmath>
#include <cstring>
#include <map>

using namespace attn;
using namespace attn::maps;

namespace {

std::array<uint8_t, Glyph::rows> dotsOf(char32_t letter) {
  Glyph glyph = glyphOf(letter);
  std::array<uint8_t, Glyph::rows> dots;
  std::copy(std::begin(glyph.dots), std::end(glyph.dots), dots.begin());
  return dots;
}

/// CIE L* of an sRGB colour, 0 to 100.
double lightness(Colour colour) {
  auto linear = [](uint8_t part) {
    double x = part / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  };
  double y =
      0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
  return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
}

} // namespace

TEST(Font, EveryPrintableLetterIsDrawnAndDiffers) {
  std::map<std::array<uint8_t, Glyph::rows>, char32_t> seen;
  for (char32_t letter = '!'; letter < 127; ++letter) {
    auto [place, isNew] = seen.insert({dotsOf(letter), letter});
    EXPECT_TRUE(isNew) << char(letter) << " looks like " << char(place->second);
    EXPECT_NE(dotsOf(letter), dotsOf(0xfffd)) << char(letter) << " is not drawn";
  }
}

TEST(Font, AccentsStandOnTheirLetter) {
  for (auto [composed, base] :
       {std::pair(U'é', 'e'), {U'É', 'E'}, {U'ü', 'u'}, {U'ç', 'c'}, {U'ñ', 'n'}}) {
    Glyph accented = glyphOf(composed), plain = glyphOf(char32_t(base));
    int more = 0;
    for (int row = 0; row < Glyph::rows; ++row) {
      EXPECT_EQ(accented.dots[row] & plain.dots[row], plain.dots[row]) << base << row;
      more += accented.dots[row] != plain.dots[row];
    }
    EXPECT_GE(more, 1) << base;
  }
}

TEST(Font, UnknownLettersAndBytesAreBoxes) {
  EXPECT_EQ(dotsOf(0x4e2d), dotsOf(0xfffd));
  const char *text = "a\xc3\xa9\xe2\x80\x94\xf0\x9f\x98\x80\xff";
  size_t size = strlen(text);
  for (char32_t letter : {0x61, 0xe9, 0x2014, 0x1f600, 0xfffd})
    EXPECT_EQ(takeLetter(text, size), letter);
  EXPECT_EQ(size, 0u);
}

TEST(Font, TextThatDoesNotFitEndsInDots) {
  EXPECT_EQ(fitText("attention", 2, 1000), "attention");
  std::string cut = fitText("attention", 2, 60);
  EXPECT_LE(textWidth(cut, 2), 60);
  EXPECT_EQ(cut.substr(cut.size() - 2), "..");
}

TEST(ColourMap, LightnessRisesEvenly) {
  // 101 colours; a step of 1/100 is 0.7 of L* on average, 8 bits for a part round by about 0.3.
  double before = lightness(colourOf(0)), least = 100, most = 0;
  for (int i = 10; i <= 100; i += 10) {
    double now = lightness(colourOf(i / 100.0));
    least = std::min(least, now - before);
    most = std::max(most, now - before);
    before = now;
  }
  EXPECT_GT(least, 5);
  EXPECT_LT(most / least, 1.5);
}

TEST(ColourMap, WhatIsNoNumberHasAColourOfItsOwn) {
  for (double value : {double(NAN), double(INFINITY), double(-INFINITY)}) {
    Colour colour = colourOf(value);
    EXPECT_EQ(colour.red, hollow.red);
    EXPECT_EQ(colour.green, hollow.green);
  }
  EXPECT_EQ(colourOf(-3).red, colourOf(0).red);
  EXPECT_EQ(colourOf(7).green, colourOf(1).green);
}

TEST(Canvas, WritesPng) {
  Canvas canvas(3, 2);
  canvas.fill(1, 0, 1, 1, {255, 0, 0});
  std::string png = canvas.png();
  ASSERT_GT(png.size(), 8u);
  EXPECT_EQ(std::memcmp(png.data(), "\x89PNG\r\n\x1a\n", 8), 0);
}
