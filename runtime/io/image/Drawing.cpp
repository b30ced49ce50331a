// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rectangles and text to pixels, pixels to a PNG file.
#include "io/image/Drawing.h"
#include "io/image/Font.h"
#include <cmath>
#include <png.h>

using namespace attn;

static unsigned char *pixelAt(const Pixels &pixels, int x, int y) {
  return pixels.bytes + (size_t(y) * size_t(pixels.width) + size_t(x)) * 3;
}

void attn::fillRectangle(const Pixels &pixels, int x, int y, int width, int height, Colour colour) {
  int right = x + width < pixels.width ? x + width : pixels.width;
  int bottom = y + height < pixels.height ? y + height : pixels.height;
  for (int row = y > 0 ? y : 0; row < bottom; ++row)
    for (int column = x > 0 ? x : 0; column < right; ++column) {
      unsigned char *pixel = pixelAt(pixels, column, row);
      pixel[0] = colour.red, pixel[1] = colour.green, pixel[2] = colour.blue;
    }
}

void attn::drawFrame(const Pixels &pixels, int x, int y, int width, int height, int thick,
                     Colour colour) {
  int across = thick < width ? thick : width, down = thick < height ? thick : height;
  fillRectangle(pixels, x, y, width, down, colour);
  fillRectangle(pixels, x, y + height - down, width, down, colour);
  fillRectangle(pixels, x, y, across, height, colour);
  fillRectangle(pixels, x + width - across, y, across, height, colour);
}

/// Mixes a colour into a pixel, by the part of it that is covered.
static void blend(const Pixels &pixels, int x, int y, Colour colour, double coverage) {
  if (x < 0 || y < 0 || x >= pixels.width || y >= pixels.height || coverage <= 0)
    return;
  unsigned char *pixel = pixelAt(pixels, x, y);
  const uint8_t parts[3] = {colour.red, colour.green, colour.blue};
  for (int c = 0; c < 3; ++c)
    pixel[c] = uint8_t(lround(pixel[c] + (parts[c] - pixel[c]) * fmin(coverage, 1.0)));
}

/// How much of the pixel at (across, down), in pixels from the glyph's corner, is ink. Between dots
/// the level is interpolated and sharpened again, which rounds the corners of strokes.
static double coverageOf(const Glyph &glyph, double across, double down, double scale) {
  double column = across / scale - 0.5, row = down / scale - 0.5;
  int c = int(floor(column)), r = int(floor(row));
  double fc = column - c, fr = row - r;
  auto dot = [&](int dr, int dc) {
    return double(glyph.isSet(r + dr + Glyph::above, c + dc + glyph.first));
  };
  double level = (dot(0, 0) * (1 - fc) + dot(0, 1) * fc) * (1 - fr) +
                 (dot(1, 0) * (1 - fc) + dot(1, 1) * fc) * fr;
  return (level - 0.5) * scale + 0.6;
}

void attn::drawText(const Pixels &pixels, int x, int y, const char *text, size_t size, double scale,
                    Colour colour, bool isUpwards) {
  double start = 0;
  while (size > 0) {
    Glyph glyph = glyphOf(takeLetter(text, size));
    int filled = glyph.last - glyph.first + 1;
    int left = int(floor(start - scale)), right = int(ceil(start + (filled + 1) * scale));
    int top = int(-(Glyph::above + 1) * scale), bottom = int(Glyph::rows * scale);
    for (int down = top; down < bottom; ++down)
      for (int across = left; across < right; ++across) {
        double coverage = coverageOf(glyph, across + 0.5 - start, down + 0.5, scale);
        if (isUpwards)
          blend(pixels, x + down, y - 1 - across, colour, coverage);
        else
          blend(pixels, x + across, y + down, colour, coverage);
      }
    start += (filled + 1) * scale;
  }
}

int attn::textWidth(const char *text, size_t size, double scale) {
  int dots = 0;
  while (size > 0) {
    Glyph glyph = glyphOf(takeLetter(text, size));
    dots += glyph.last - glyph.first + 2;
  }
  return dots > 1 ? int(ceil((dots - 1) * scale)) : 0;
}

int attn::textHeight(double scale) { return int(ceil(7 * scale)); }

bool attn::encodePng(const Pixels &pixels, Vector<char> &file) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = png_uint_32(pixels.width);
  image.height = png_uint_32(pixels.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  bool isGood = file.resize(size) &&
                png_image_write_to_memory(&image, file.data(), &size, 0, pixels.bytes, 0, nullptr);
  png_image_free(&image);
  return isGood && file.resize(size);
}
