// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is drawn on pictures: rectangles and lines of text; a picture as a PNG file.
#pragma once

#include "base/Vector.h"

namespace attn {

/// A colour in sRGB.
struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
};

/// 8-bit RGB that somebody else owns, [height, width, 3]. What lies outside is not drawn.
struct Pixels {
  unsigned char *bytes;
  int width, height;
};

/// Fills a rectangle.
void fillRectangle(const Pixels &pixels, int x, int y, int width, int height, Colour colour);

/// The edge of a rectangle, `thick` pixels wide, inside of it.
void drawFrame(const Pixels &pixels, int x, int y, int width, int height, int thick, Colour colour);

/// A line of `size` bytes of UTF-8 whose capitals begin at (x, y), `scale` pixels for each dot of
/// the font. `isUpwards`: turned a quarter to the left, from its lower left corner on.
void drawText(const Pixels &pixels, int x, int y, const char *text, size_t size, double scale,
              Colour colour, bool isUpwards = false);

/// The width of a line of text in pixels.
int textWidth(const char *text, size_t size, double scale);

/// From the top of capitals to the base line.
int textHeight(double scale);

/// A PNG file's bytes. False where memory is lacking.
bool encodePng(const Pixels &pixels, Vector<char> &file);

} // namespace attn
