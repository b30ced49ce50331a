// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the examples draw with: rectangles and text on a canvas, which becomes a PNG file.
#pragma once

#include "font.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <png.h>
#include <string>
#include <vector>

/// A colour in sRGB, 0 to 255.
struct Colour {
  float red, green, blue;
};

/// A picture in memory, drawn on with coverage between 0 and 1.
class Canvas {
public:
  /// Black.
  Canvas(int width, int height) : width(width), height(height), bytes(size_t(width) * height * 3) {}

  /// Mixes a colour into a pixel, if there is such a pixel.
  void blend(int x, int y, Colour colour, float coverage) {
    if (x < 0 || y < 0 || x >= width || y >= height || coverage <= 0)
      return;
    uint8_t *pixel = &bytes[(size_t(y) * width + x) * 3];
    const float parts[3] = {colour.red, colour.green, colour.blue};
    for (int c = 0; c < 3; ++c)
      pixel[c] = uint8_t(std::lround(pixel[c] + (parts[c] - pixel[c]) * std::min(coverage, 1.0f)));
  }

  /// A filled rectangle with round corners; the edge is smooth to a fraction of a pixel.
  void roundRectangle(float x, float y, float w, float h, float radius, Colour colour) {
    for (int py = int(y) - 1; py <= y + h; ++py)
      for (int px = int(x) - 1; px <= x + w; ++px) {
        float dx = std::fabs(px + 0.5f - x - w / 2) - w / 2 + radius;
        float dy = std::fabs(py + 0.5f - y - h / 2) - h / 2 + radius;
        float outside = std::hypot(std::max(dx, 0.0f), std::max(dy, 0.0f)) +
                        std::min(std::max(dx, dy), 0.0f) - radius;
        blend(px, py, colour, 0.5f - outside);
      }
  }

  const int width, height;    ///< In pixels.
  std::vector<uint8_t> bytes; ///< [height, width, 3]
};

/// One letter: its cell, and the columns that it fills.
struct Glyph {
  const GlyphBand *band = nullptr;
  int cell = 0, first = 0, last = 2; // a space is three columns wide

  /// Whether a dot is ink.
  bool set(int row, int column) const {
    return band && row >= 0 && row < 9 && column >= 0 && column < 5 &&
           band->rows[row][cell * 6 + column] == '#';
  }
};

/// The glyph of a letter; a space where there is none.
inline Glyph findGlyph(char character) {
  for (const GlyphBand &band : glyphBands) {
    const char *place = character ? std::strchr(band.characters, character) : nullptr;
    if (!place)
      continue;
    Glyph glyph{&band, int(place - band.characters), 5, 0};
    for (int row = 0; row < 9; ++row)
      for (int column = 0; column < 5; ++column)
        if (glyph.set(row, column)) {
          glyph.first = std::min(glyph.first, column);
          glyph.last = std::max(glyph.last, column);
        }
    return glyph;
  }
  return {};
}

/// The width of a line of text in pixels.
inline float textWidth(const std::string &text, float scale) {
  float width = 0;
  for (char character : text) {
    Glyph glyph = findGlyph(character);
    width += (glyph.last - glyph.first + 2) * scale;
  }
  return width - (text.empty() ? 0 : scale);
}

/// Draws a line of text whose capitals begin at (x, y). Between the dots of the font the coverage
/// is interpolated and sharpened again, which rounds the corners of the strokes.
inline void drawText(Canvas &canvas, float x, float y, const std::string &text, float scale,
                     Colour colour) {
  for (char character : text) {
    Glyph glyph = findGlyph(character);
    int wide = glyph.last - glyph.first + 1;
    for (int py = int(y - scale); py < y + 10 * scale; ++py)
      for (int px = int(x - scale); px < x + (wide + 1) * scale; ++px) {
        float column = (px + 0.5f - x) / scale - 0.5f, row = (py + 0.5f - y) / scale - 0.5f;
        int c = int(std::floor(column)), r = int(std::floor(row));
        float fc = column - c, fr = row - r;
        auto dot = [&](int dr, int dc) { return float(glyph.set(r + dr, c + dc + glyph.first)); };
        float level = (dot(0, 0) * (1 - fc) + dot(0, 1) * fc) * (1 - fr) +
                      (dot(1, 0) * (1 - fc) + dot(1, 1) * fc) * fr;
        canvas.blend(px, py, colour, (level - 0.5f) * scale + 0.6f);
      }
    x += (wide + 1) * scale;
  }
}

/// Encodes the canvas. libpng reports errors by a long jump, so nothing here has a destructor.
inline bool encode(FILE *file, const Canvas &canvas) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_init_io(png, file);
  png_set_IHDR(png, info, canvas.width, canvas.height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int y = 0; y < canvas.height; ++y)
    png_write_row(png, &canvas.bytes[size_t(y) * canvas.width * 3]);
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return true;
}

/// Lets `write` fill a file beside `path`, and gives it that name. Returns an empty string, or what
/// went wrong.
template <typename Write> std::string writeWhole(const std::string &path, Write write) {
  const std::string part = path + ".part";
  FILE *file = std::fopen(part.c_str(), "wb");
  bool written = file && write(file);
  if (file && std::fclose(file) != 0)
    written = false;
  if (written && std::rename(part.c_str(), path.c_str()) == 0)
    return "";
  std::string reason = std::strerror(errno);
  std::remove(part.c_str());
  return "cannot write " + path + ": " + reason;
}

/// Writes the canvas as a PNG file, whole or not at all. Returns an empty string, or what went
/// wrong.
inline std::string writeCanvas(const std::string &path, const Canvas &canvas) {
  return writeWhole(path, [&](FILE *file) { return encode(file, canvas); });
}
