// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "contact_sheet.h"
#include "drawing.h"

namespace {

constexpr Colour page{238, 240, 244}, paper{255, 255, 255}, edge{219, 223, 230};
constexpr Colour ink{32, 38, 50}, pale{122, 130, 146}, good{22, 128, 82}, bad{200, 36, 48};
constexpr Colour badEdge{232, 150, 154};

constexpr int side = 28, zoom = 6, columns = 5;
constexpr int cardWidth = 208, cardHeight = 252, gap = 18, margin = 32, top = 112;

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

  return writeCanvas(path, canvas);
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
