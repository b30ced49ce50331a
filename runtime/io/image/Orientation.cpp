// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a picture is shown: the orientation that its EXIF data or XMP say, from 1 to 8, as Pillow
// reads it, and the pixels turned so.
#include "io/image/Image.h"

using namespace attn;

static constexpr uint32_t orientationTag = 0x0112;

namespace {
/// The numbers of a TIFF header and its directories, in the order of bytes that it says.
struct TiffReader {
  const unsigned char *bytes;
  size_t size;
  bool isBigEndian;

  uint32_t number(size_t at, size_t count) const {
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i)
      value |= uint32_t(bytes[at + i]) << (8 * (isBigEndian ? count - 1 - i : i));
    return value;
  }
};
} // namespace

/// The first element of a directory's entry at `at`; -1 where it is no whole number, or lies
/// outside.
static int64_t entryValue(const TiffReader &tiff, size_t at) {
  uint32_t type = tiff.number(at + 2, 2), count = tiff.number(at + 4, 4);
  // SBYTE, SHORT, LONG and their signed forms; what BYTE and texts say is no orientation.
  size_t width = type == 6 ? 1 : type == 3 || type == 8 ? 2 : type == 4 || type == 9 ? 4 : 0;
  if (width == 0 || count == 0)
    return -1;
  size_t place = uint64_t(width) * count > 4 ? tiff.number(at + 8, 4) : at + 8;
  return place <= tiff.size && uint64_t(width) * count <= tiff.size - place
             ? int64_t(tiff.number(place, width))
             : -1;
}

int attn::exifOrientation(const unsigned char *bytes, size_t size) {
  for (; size >= 6 && memcmp(bytes, "Exif\0\0", 6) == 0; size -= 6)
    bytes += 6;
  if (size < 8 || (memcmp(bytes, "MM", 2) != 0 && memcmp(bytes, "II", 2) != 0) ||
      (memcmp(bytes + 2, "\0\x2a", 2) != 0 && memcmp(bytes + 2, "\x2a\0", 2) != 0))
    return 0;
  TiffReader tiff{bytes, size, bytes[0] == 'M'};
  size_t at = tiff.number(4, 4);
  if (at > size || size - at < 2)
    return 0;
  int found = 0;
  uint32_t entries = tiff.number(at, 2);
  at += 2;
  for (; entries > 0 && size - at >= 12; --entries, at += 12)
    if (tiff.number(at, 2) == orientationTag)
      if (int64_t value = entryValue(tiff, at); value >= 0)
        found = value >= 1 && value <= 8 ? int(value) : 1;
  return found;
}

int attn::xmpOrientation(const char *text, size_t size) {
  static constexpr char name[] = "tiff:Orientation";
  for (size_t at = 0; at + sizeof name < size; ++at) {
    if (memcmp(text + at, name, sizeof name - 1) != 0)
      continue;
    const char *rest = text + at + sizeof name - 1, *end = text + size;
    if (*rest == '>')
      ++rest;
    else if (end - rest >= 2 && rest[0] == '=' && rest[1] == '"')
      rest += 2;
    else
      continue;
    if (rest < end && *rest >= '0' && *rest <= '9')
      return *rest - '0';
  }
  return 0;
}

bool attn::turnUpright(Image &image) {
  int orientation = image.orientation;
  if (orientation < 2 || orientation > 8)
    return true;
  // In which order columns and rows of the shown picture go through the stored one.
  bool isTransposed = orientation >= 5,
       fromRight = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8,
       fromBottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image turned;
  if (!turned.allocate(isTransposed ? image.height : image.width,
                       isTransposed ? image.width : image.height, image.channels))
    return false;
  auto channels = size_t(image.channels);
  unsigned char *to = turned.pixels;
  for (int32_t y = 0; y < turned.height; ++y)
    for (int32_t x = 0; x < turned.width; ++x, to += channels) {
      int32_t column = isTransposed ? y : x, row = isTransposed ? x : y;
      column = fromRight ? image.width - 1 - column : column;
      row = fromBottom ? image.height - 1 - row : row;
      memcpy(to, image.pixels + (size_t(row) * size_t(image.width) + size_t(column)) * channels,
             channels);
    }
  image.swap(turned);
  image.orientation = 1;
  return true;
}
