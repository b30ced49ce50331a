// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JPEG files to pixels, by libjpeg; its errors come back by longjmp.
#include "base/Vector.h"
#include "io/image/Image.h"
#include <csetjmp>
#include <cstdio>
// jpeglib.h needs FILE and size_t first.
#include <jerror.h>
#include <jpeglib.h>

using namespace attn;

namespace {
/// libjpeg's error manager, and what must outlive a longjmp.
struct JpegDecoder {
  jpeg_error_mgr manager; // first: libjpeg hands back its address
  jmp_buf jump;
  char *problem;
  unsigned char *row;
};
} // namespace

static void onError(j_common_ptr info) {
  auto *decoder = reinterpret_cast<JpegDecoder *>(info->err);
  char text[JMSG_LENGTH_MAX];
  info->err->format_message(info, text);
  snprintf(decoder->problem, 256, "%s", text);
  longjmp(decoder->jump, 1);
}

/// libjpeg warns and goes on with grey where the data ends too early; for us that is an error.
static void onMessage(j_common_ptr info, int level) {
  bool isTruncated = info->err->msg_code == JWRN_JPEG_EOF || info->err->msg_code == JWRN_HIT_MARKER;
  if (level < 0 && isTruncated)
    onError(info);
}

/// Without a text where memory is lacking.
static void fail(jpeg_decompress_struct &info, const char *why) {
  auto *decoder = reinterpret_cast<JpegDecoder *>(info.err);
  snprintf(decoder->problem, 256, "%s", why);
  longjmp(decoder->jump, 1);
}

/// Inverted CMYK, as Adobe's programs and nearly all files have it, to RGB in Pillow's arithmetic.
static void convertCmyk(const unsigned char *from, int32_t width, unsigned char *to) {
  for (int32_t x = 0; x < width; ++x, from += 4, to += 3)
    for (int c = 0; c < 3; ++c) {
      int light = from[3], ink = 255 - from[c], product = ink * light + 128;
      int value = light - (((product >> 8) + product) >> 8);
      to[c] = static_cast<unsigned char>(value < 0 ? 0 : value);
    }
}

/// What the markers say of how the picture is shown: EXIF, which may go on over several of them,
/// else XMP.
static bool readOrientation(const jpeg_decompress_struct &info, Image &image) {
  static constexpr char exif[] = "Exif\0", xmp[] = "http://ns.adobe.com/xap/1.0/";
  Vector<unsigned char> joined;
  for (jpeg_saved_marker_ptr marker = info.marker_list; marker; marker = marker->next)
    if (marker->data_length > sizeof exif && memcmp(marker->data, exif, sizeof exif) == 0 &&
        !joined.append(marker->data + sizeof exif, marker->data_length - sizeof exif))
      return false;
  image.orientation = exifOrientation(joined.data(), joined.size());
  for (jpeg_saved_marker_ptr marker = info.marker_list; marker; marker = marker->next)
    if (image.orientation == 0 && marker->data_length > sizeof xmp &&
        memcmp(marker->data, xmp, sizeof xmp) == 0)
      image.orientation =
          xmpOrientation(reinterpret_cast<const char *>(marker->data), marker->data_length);
  return true;
}

static bool readImage(jpeg_decompress_struct &info, JpegDecoder &decoder,
                      const unsigned char *bytes, size_t size, Image &image) {
  if (setjmp(decoder.jump))
    return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes, size);
  jpeg_save_markers(&info, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&info, TRUE);
  if (!readOrientation(info, image))
    fail(info, "");
  if (uint64_t(info.image_width) * info.image_height > maxPixels)
    fail(info, "more than 100 million pixels");
  bool isGrey = info.num_components == 1, isCmyk = info.num_components == 4;
  info.out_color_space = isGrey ? JCS_GRAYSCALE : isCmyk ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&info);
  int32_t width = int32_t(info.output_width), channels = isGrey ? 1 : 3;
  if (!image.allocate(width, int32_t(info.output_height), channels))
    fail(info, "");
  if (isCmyk && !(decoder.row = static_cast<unsigned char *>(malloc(size_t(width) * 4))))
    fail(info, "");
  while (info.output_scanline < info.output_height) {
    unsigned char *target = image.pixels + size_t(info.output_scanline) * size_t(width * channels);
    unsigned char *row = isCmyk ? decoder.row : target;
    jpeg_read_scanlines(&info, &row, 1);
    if (isCmyk)
      convertCmyk(row, width, target);
  }
  jpeg_finish_decompress(&info);
  return true;
}

bool attn::decodeJpeg(const unsigned char *bytes, size_t size, Image &image, char *problem) {
  JpegDecoder decoder = {};
  jpeg_decompress_struct info = {};
  info.err = jpeg_std_error(&decoder.manager);
  decoder.manager.error_exit = onError;
  decoder.manager.emit_message = onMessage;
  decoder.problem = problem;
  bool isGood = readImage(info, decoder, bytes, size, image);
  jpeg_destroy_decompress(&info);
  free(decoder.row);
  return isGood;
}
