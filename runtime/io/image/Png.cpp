// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PNG files to pixels, by libpng; its errors come back by longjmp.
#include "base/Vector.h"
#include "io/image/Image.h"
#include <csetjmp>
#include <cstdio>
#include <png.h>

using namespace attn;

/// As libpng itself says it.
static constexpr char noMemory[] = "Out of memory";

namespace {
/// What must outlive a longjmp out of libpng.
struct PngDecoder {
  const unsigned char *bytes;
  size_t size, position;
  char *problem;
  unsigned char **rows;
  Vector<unsigned char> profile; ///< EXIF data of a text
};
} // namespace

static void onError(png_structp png, png_const_charp message) {
  auto *decoder = static_cast<PngDecoder *>(png_get_error_ptr(png));
  bool isMemory = strcmp(message, noMemory) == 0;
  snprintf(decoder->problem, 256, "%s", isMemory ? "" : message);
  longjmp(png_jmpbuf(png), 1);
}

static void onWarning(png_structp, png_const_charp) {}

static void onRead(png_structp png, png_bytep target, size_t wanted) {
  auto *decoder = static_cast<PngDecoder *>(png_get_io_ptr(png));
  if (decoder->size - decoder->position < wanted)
    png_error(png, "the file ends too early");
  memcpy(target, decoder->bytes + decoder->position, wanted);
  decoder->position += wanted;
}

/// All formats to 8-bit grey or RGB. Of 16-bit samples the upper byte is taken; transparency is
/// dropped.
static void setTransforms(png_structp png, png_infop info) {
  int type = png_get_color_type(png, info);
  png_set_strip_16(png);
  if (type == PNG_COLOR_TYPE_PALETTE)
    png_set_palette_to_rgb(png);
  if (type == PNG_COLOR_TYPE_GRAY)
    png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

/// Hexadecimal digits behind three lines, as ImageMagick writes EXIF data into a text.
static bool readRawProfile(const char *text, Vector<unsigned char> &bytes) {
  for (int lines = 0; lines < 3 && *text; ++text)
    lines += *text == '\n';
  int digits = 0, value = 0;
  for (; *text; ++text) {
    const char *digit = strchr("0123456789abcdef0123456789ABCDEF", *text);
    if (!digit)
      continue;
    value = value * 16 + int(digit - "0123456789abcdef0123456789ABCDEF") % 16;
    if (++digits % 2 == 0 && !bytes.push(static_cast<unsigned char>(value)))
      return false;
    value = digits % 2 ? value : 0;
  }
  return true;
}

/// What the chunks say of how the picture is shown: eXIf, else texts, as EXIF or as XMP.
static void readOrientation(png_structp png, png_infop info, PngDecoder &decoder, Image &image) {
  png_uint_32 size = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(png, info, &size, &exif) && exif)
    image.orientation = exifOrientation(exif, size);
  png_textp texts = nullptr;
  int count = 0;
  png_get_text(png, info, &texts, &count);
  for (int i = 0; i < count; ++i) {
    if (exif || strcmp(texts[i].key, "Raw profile type exif") != 0)
      continue;
    decoder.profile.clear();
    if (!readRawProfile(texts[i].text, decoder.profile))
      png_error(png, noMemory);
    image.orientation = exifOrientation(decoder.profile.data(), decoder.profile.size());
  }
  for (int i = 0; i < count; ++i)
    if (image.orientation == 0 && strcmp(texts[i].key, "XML:com.adobe.xmp") == 0)
      image.orientation = xmpOrientation(texts[i].text, strlen(texts[i].text));
}

static bool readImage(png_structp png, png_infop info, PngDecoder &decoder, Image &image) {
  if (setjmp(png_jmpbuf(png)))
    return false;
  png_set_read_fn(png, &decoder, onRead);
  png_set_user_limits(png, 1 << 26, 1 << 26);
  png_read_info(png, info);
  uint64_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
  if (width * height > maxPixels)
    png_error(png, "more than 100 million pixels");
  setTransforms(png, info);
  int channels = png_get_channels(png, info);
  if ((channels != 1 && channels != 3) || png_get_bit_depth(png, info) != 8)
    png_error(png, "a format of pixels that PNG does not have");
  decoder.rows = static_cast<unsigned char **>(malloc(height * sizeof(unsigned char *)));
  if (!decoder.rows || !image.allocate(int32_t(width), int32_t(height), channels))
    png_error(png, noMemory);
  for (uint64_t y = 0; y < height; ++y)
    decoder.rows[y] = image.pixels + y * width * uint64_t(channels);
  png_read_image(png, decoder.rows);
  png_read_end(png, info);
  readOrientation(png, info, decoder, image);
  return true;
}

bool attn::decodePng(const unsigned char *bytes, size_t size, Image &image, char *problem) {
  PngDecoder decoder{bytes, size, 0, problem, nullptr, {}};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, onError, onWarning);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  bool isGood = false;
  if (info)
    isGood = readImage(png, info, decoder, image);
  else
    *problem = 0;
  png_destroy_read_struct(&png, &info, nullptr);
  free(decoder.rows);
  return isGood;
}
