// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures: decoded, brought to the channels and the size that a model takes.
#include "Targets.h"
#include "attn/abi.h"
#include "io/image/Image.h"

#include <cstring>

void attn::fuzz::picture(const uint8_t *data, size_t size) {
  Image image, resized;
  char problem[256] = "";
  bool isPng = size >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0;
  if (!(isPng ? decodePng : decodeJpeg)(data, size, image, problem)) {
    require(problem[0] != 0, "an error without words");
    return;
  }
  int32_t filter = size % 3 == 0   ? ATTN_FILTER_NEAREST
                   : size % 3 == 1 ? ATTN_FILTER_BILINEAR
                                   : ATTN_FILTER_BICUBIC;
  require(convertChannels(image, size % 2 ? 1 : 3) && resizeImage(image, 7, 5, filter, resized),
          "no memory");
  [[maybe_unused]] static volatile unsigned char sink;
  for (int32_t i = 0; i < resized.width * resized.height * resized.channels; ++i)
    sink = resized.pixels[i];
}
