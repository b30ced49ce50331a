// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A picture and its bytes; the runtime draws.
#include "Canvas.h"

namespace attn::maps {

Canvas::Canvas(int width, int height)
    : wide(width), high(height), bytes(size_t(width) * size_t(height) * 3, 255) {}

void Canvas::fill(int x, int y, int w, int h, Colour colour) {
  fillRectangle(pixels(), x, y, w, h, colour);
}

void Canvas::frame(int x, int y, int w, int h, Colour colour) {
  drawFrame(pixels(), x, y, w, h, 1, colour);
}

Colour Canvas::at(int x, int y) const {
  const uint8_t *pixel = &bytes[(size_t(y) * size_t(wide) + size_t(x)) * 3];
  return {pixel[0], pixel[1], pixel[2]};
}

void Canvas::text(int x, int y, const std::string &text, double scale, Colour colour) {
  drawText(pixels(), x, y, text.data(), text.size(), scale, colour);
}

void Canvas::textUpwards(int x, int y, const std::string &text, double scale, Colour colour) {
  drawText(pixels(), x, y, text.data(), text.size(), scale, colour, /*isUpwards=*/true);
}

int textWidth(const std::string &text, double scale) {
  return attn::textWidth(text.data(), text.size(), scale);
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

std::string Canvas::png() {
  Vector<char> file;
  return encodePng(pixels(), file) ? std::string(file.data(), file.size()) : std::string();
}

} // namespace attn::maps
