// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rectangles and text to pixels, pixels to a PNG file.
#include "Canvas.h"

#include "Font.h"
#include <algorithm>
#include <cmath>
#include <png.h>

namespace attn::maps {

Canvas::Canvas(int width, int height)
    : wide(width), high(height), bytes(size_t(width) * size_t(height) * 3, 255) {}

void Canvas::fill(int x, int y, int w, int h, Colour colour) {
  for (int row = std::max(y, 0); row < std::min(y + h, high); ++row)
    for (int column = std::max(x, 0); column < std::min(x + w, wide); ++column) {
      uint8_t *pixel = &bytes[(size_t(row) * size_t(wide) + size_t(column)) * 3];
      pixel[0] = colour.red, pixel[1] = colour.green, pixel[2] = colour.blue;
    }
}

void Canvas::frame(int x, int y, int w, int h, Colour colour) {
  fill(x, y, w, 1, colour);
  fill(x, y + h - 1, w, 1, colour);
  fill(x, y, 1, h, colour);
  fill(x + w - 1, y, 1, h, colour);
}

Colour Canvas::at(int x, int y) const {
  const uint8_t *pixel = &bytes[(size_t(y) * size_t(wide) + size_t(x)) * 3];
  return {pixel[0], pixel[1], pixel[2]};
}

void Canvas::blend(int x, int y, Colour colour, double coverage) {
  if (x < 0 || y < 0 || x >= wide || y >= high || coverage <= 0)
    return;
  uint8_t *pixel = &bytes[(size_t(y) * size_t(wide) + size_t(x)) * 3];
  const uint8_t parts[3] = {colour.red, colour.green, colour.blue};
  for (int c = 0; c < 3; ++c)
    pixel[c] = uint8_t(std::lround(pixel[c] + (parts[c] - pixel[c]) * std::min(coverage, 1.0)));
}

/// How much of the pixel at (across, down), in pixels from the glyph's corner, is ink. Between dots
/// the level is interpolated and sharpened again, which rounds the corners of strokes.
static double coverageOf(const Glyph &glyph, double across, double down, double scale) {
  double column = across / scale - 0.5, row = down / scale - 0.5;
  int c = int(std::floor(column)), r = int(std::floor(row));
  double fc = column - c, fr = row - r;
  auto dot = [&](int dr, int dc) {
    return double(glyph.isSet(r + dr + Glyph::above, c + dc + glyph.first));
  };
  double level = (dot(0, 0) * (1 - fc) + dot(0, 1) * fc) * (1 - fr) +
                 (dot(1, 0) * (1 - fc) + dot(1, 1) * fc) * fr;
  return (level - 0.5) * scale + 0.6;
}

/// Calls `ink(across, down, coverage)` for the pixels of a line of text.
template <typename Ink> static void drawLine(const std::string &text, double scale, Ink ink) {
  double x = 0;
  for (char32_t letter : lettersOf(text)) {
    Glyph glyph = glyphOf(letter);
    int filled = glyph.last - glyph.first + 1;
    int left = int(std::floor(x - scale)), right = int(std::ceil(x + (filled + 1) * scale));
    int top = int(-(Glyph::above + 1) * scale), bottom = int(Glyph::rows * scale);
    for (int down = top; down < bottom; ++down)
      for (int across = left; across < right; ++across)
        ink(across, down, coverageOf(glyph, across + 0.5 - x, down + 0.5, scale));
    x += (filled + 1) * scale;
  }
}

void Canvas::text(int x, int y, const std::string &text, double scale, Colour colour) {
  drawLine(text, scale, [&](int across, int down, double coverage) {
    blend(x + across, y + down, colour, coverage);
  });
}

void Canvas::textUpwards(int x, int y, const std::string &text, double scale, Colour colour) {
  drawLine(text, scale, [&](int across, int down, double coverage) {
    blend(x + down, y - 1 - across, colour, coverage);
  });
}

int textWidth(const std::string &text, double scale) {
  int dots = 0;
  for (char32_t letter : lettersOf(text)) {
    Glyph glyph = glyphOf(letter);
    dots += glyph.last - glyph.first + 2;
  }
  return int(std::ceil(std::max(dots - 1, 0) * scale));
}

std::string fitText(const std::string &text, double scale, int width) {
  if (textWidth(text, scale) <= width)
    return text;
  std::string cut = text;
  while (!cut.empty() && textWidth(cut + "..", scale) > width) {
    while (cut.size() > 1 && (cut.back() & 0xc0) == 0x80)
      cut.pop_back();
    cut.pop_back();
  }
  return cut + "..";
}

int textHeight(double scale) { return int(std::ceil(7 * scale)); }

std::string Canvas::png() const {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = png_uint_32(wide);
  image.height = png_uint_32(high);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  std::string file;
  if (png_image_write_get_memory_size(image, size, 0, bytes.data(), 0, nullptr)) {
    file.resize(size);
    if (!png_image_write_to_memory(&image, file.data(), &size, 0, bytes.data(), 0, nullptr))
      size = 0;
    file.resize(size);
  }
  png_image_free(&image);
  return file;
}

} // namespace attn::maps
