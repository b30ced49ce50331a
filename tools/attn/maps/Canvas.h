// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A picture that figures are drawn on.
#pragma once

#include "io/image/Drawing.h"
#include <string>
#include <vector>

namespace attn::maps {

/// A picture in memory.
class Canvas {
public:
  /// White.
  Canvas(int width, int height);

  /// Fills a rectangle.
  void fill(int x, int y, int w, int h, Colour colour);
  /// A rectangle's edge, one pixel wide.
  void frame(int x, int y, int w, int h, Colour colour);
  /// Text whose capitals begin at (x, y), `scale` pixels for each dot of the font.
  void text(int x, int y, const std::string &text, double scale, Colour colour);
  /// The same turned a quarter to the left: (x, y) is the lower left corner of the turned text.
  void textUpwards(int x, int y, const std::string &text, double scale, Colour colour);

  /// The colour of a pixel.
  Colour at(int x, int y) const;
  /// The size in pixels.
  int width() const { return wide; }
  int height() const { return high; }

  /// As a PNG file's bytes; empty where libpng could not.
  std::string png();

private:
  /// What the runtime draws on.
  Pixels pixels() { return {bytes.data(), wide, high}; }

  int wide, high;
  std::vector<uint8_t> bytes; ///< [height, width, 3]
};

/// The width of a text in pixels.
int textWidth(const std::string &text, double scale);
/// The text, or so much of it as fits `width` pixels with ".." after it.
std::string fitText(const std::string &text, double scale, int width);

} // namespace attn::maps
