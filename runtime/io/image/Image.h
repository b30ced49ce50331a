// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures: decoded to 8 bits, resized, normalised. Everything follows Pillow, so that a model sees
// what it saw in training.
#pragma once

#include "base/Error.h"

namespace attn {

/// 8-bit pixels, `channels` (1 or 3) beside each other, rows from the top. Owns them by malloc.
struct Image {
  int32_t width = 0, height = 0, channels = 0;
  unsigned char *pixels = nullptr;
  int orientation = 0; ///< as EXIF counts, 1: shown as it is stored; 0: the file does not say

  Image() = default;
  Image(const Image &) = delete;
  Image &operator=(const Image &) = delete;
  ~Image() { free(pixels); }
  /// False where memory is lacking.
  bool allocate(int32_t width, int32_t height, int32_t channels);
  /// Exchanges the pixels of two pictures, and their sizes.
  void swap(Image &other);
};

/// Pictures above this are refused.
constexpr uint64_t maxPixels = 100 * 1000 * 1000;

/// Decode to grey (1 channel) or RGB, alpha dropped, as the pixels are stored. On failure `problem`
/// (of 256 bytes) says why, nothing where memory is lacking, and false is returned.
bool decodePng(const unsigned char *bytes, size_t size, Image &image, char *problem);
bool decodeJpeg(const unsigned char *bytes, size_t size, Image &image, char *problem);

/// The orientation that EXIF data say, with or without "Exif" in front; 0 where they are damaged,
/// or say none. That of XMP, a text.
int exifOrientation(const unsigned char *bytes, size_t size);
int xmpOrientation(const char *text, size_t size);

/// Turns and mirrors the pixels as `orientation` says, as viewers show the picture. False where
/// memory is lacking.
bool turnUpright(Image &image);

/// Luma as Pillow's convert("L"), or grey in three channels as convert("RGB"). False where memory
/// is lacking.
bool convertChannels(Image &image, int32_t channels);

/// Resizes as Pillow's Image.resize with an ATTN_FILTER_*, antialiased where it shrinks. False
/// where memory is lacking.
bool resizeImage(const Image &source, int32_t width, int32_t height, int32_t filter, Image &target);

} // namespace attn
