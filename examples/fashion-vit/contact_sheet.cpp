// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "contact_sheet.h"
#include "font.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <png.h>

namespace {

struct Colour {
  float red, green, blue;
};

constexpr Colour page{238, 240, 244}, paper{255, 255, 255}, edge{219, 223, 230};
constexpr Colour ink{32, 38, 50}, pale{122, 130, 146}, good{22, 128, 82}, bad{200, 36, 48};
constexpr Colour badEdge{232, 150, 154};

constexpr int side = 28, zoom = 6, columns = 5;
constexpr int cardWidth = 208, cardHeight = 252, gap = 18, margin = 32, top = 112;

/// A picture in memory, drawn on with coverage between 0 and 1.
class Canvas {
public:
  Canvas(int width, int height) : width(width), height(height), bytes(size_t(width) * height * 3) {}

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

  const int width, height;
  std::vector<uint8_t> bytes; ///< [height, width, 3]
};

/// One letter: its cell, and the columns that it fills.
struct Glyph {
  const GlyphBand *band = nullptr;
  int cell = 0, first = 0, last = 2; // a space is three columns wide

  bool set(int row, int column) const {
    return band && row >= 0 && row < 9 && column >= 0 && column < 5 &&
           band->rows[row][cell * 6 + column] == '#';
  }
};

Glyph findGlyph(char character) {
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

float textWidth(const std::string &text, float scale) {
  float width = 0;
  for (char character : text) {
    Glyph glyph = findGlyph(character);
    width += (glyph.last - glyph.first + 2) * scale;
  }
  return width - (text.empty() ? 0 : scale);
}

/// Draws a line of text whose capitals begin at (x, y). Between the dots of the font the coverage
/// is interpolated and sharpened again, which rounds the corners of the strokes.
void drawText(Canvas &canvas, float x, float y, const std::string &text, float scale,
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

/// Catmull-Rom weights of the four samples around a position.
void cubicWeights(float t, float weights[4]) {
  weights[0] = ((-0.5f * t + 1) * t - 0.5f) * t;
  weights[1] = (1.5f * t - 2.5f) * t * t + 1;
  weights[2] = ((-1.5f * t + 2) * t + 0.5f) * t;
  weights[3] = (0.5f * t - 0.5f) * t * t;
}

/// The picture, enlarged, in ink on paper.
void drawPicture(Canvas &canvas, int x, int y, const uint8_t *pixels) {
  auto sample = [&](int row, int column) {
    bool inside = row >= 0 && column >= 0 && row < side && column < side;
    return inside ? float(pixels[row * side + column]) : 0.0f;
  };
  for (int py = 0; py < side * zoom; ++py)
    for (int px = 0; px < side * zoom; ++px) {
      float row = (py + 0.5f) / zoom - 0.5f, column = (px + 0.5f) / zoom - 0.5f;
      int r = int(std::floor(row)), c = int(std::floor(column));
      float down[4], across[4], level = 0;
      cubicWeights(row - r, down);
      cubicWeights(column - c, across);
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          level += down[i] * across[j] * sample(r - 1 + i, c - 1 + j);
      canvas.blend(x + px, y + py, ink, level / 255);
    }
}

void drawCard(Canvas &canvas, int x, int y, const Card &card) {
  bool right = card.predicted == card.actual;
  canvas.roundRectangle(x - 1.5f, y - 1.5f, cardWidth + 3, cardHeight + 3, 13.5f,
                        right ? edge : badEdge);
  canvas.roundRectangle(x, y, cardWidth, cardHeight, 12, paper);
  drawPicture(canvas, x + (cardWidth - side * zoom) / 2, y + 14, card.pixels);

  const float text = x + 18, line = y + 14 + side * zoom + 16, scale = 2.5f;
  drawText(canvas, text, line, card.predicted, scale, right ? good : bad);
  drawText(canvas, text, line + 29, "is " + card.actual, 1.8f, right ? pale : ink);
  std::string percent = std::to_string(std::lround(card.probability * 100)) + "%";
  drawText(canvas, x + cardWidth - 18 - textWidth(percent, 1.8f), line + 29, percent, 1.8f, pale);
}

/// Encodes the canvas. libpng reports errors by a long jump, so nothing here has a destructor.
bool encode(FILE *file, const Canvas &canvas) {
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

} // namespace

std::string writeContactSheet(const std::string &path, const std::vector<Card> &cards,
                              const std::string &title, const std::string &subtitle) {
  const int rows = (int(cards.size()) + columns - 1) / columns;
  Canvas canvas(2 * margin + columns * cardWidth + (columns - 1) * gap,
                top + rows * cardHeight + (rows - 1) * gap + margin);
  canvas.roundRectangle(-20, -20, canvas.width + 40, canvas.height + 40, 0, page);
  drawText(canvas, margin, 32, title, 4, ink);
  drawText(canvas, margin, 74, subtitle, 2, pale);
  for (size_t n = 0; n < cards.size(); ++n)
    drawCard(canvas, margin + int(n) % columns * (cardWidth + gap),
             top + int(n) / columns * (cardHeight + gap), cards[n]);

  return writeWhole(path, [&](FILE *file) { return encode(file, canvas); });
}

std::string writePicture(const std::string &path, const uint8_t *pixels) {
  return writeWhole(path, [&](FILE *file) {
    png_image image = {};
    image.version = PNG_IMAGE_VERSION;
    image.width = image.height = side;
    image.format = PNG_FORMAT_GRAY;
    return png_image_write_to_stdio(&image, file, 0, pixels, 0, nullptr) != 0;
  });
}
