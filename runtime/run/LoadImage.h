// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Picture files, and their size where a model resizes them.
#pragma once

#include "attn/abi.h"
#include "attn/text.h"
#include "io/image/Image.h"

namespace attn {

/// Decodes a PNG or JPEG file, whichever it is, to grey or RGB, upright as viewers show it.
attn_status readPicture(const char *path, Image &image, Error &error);

/// The size in pixels to which a picture is resized, and the pixel of it that the tensor begins
/// with, which may lie outside.
struct PictureFrame {
  int64_t width, height, left, top;
};

/// The frame of a picture as `spec` says it.
PictureFrame frameOf(const Image &image, const attn_abi_image &spec);

} // namespace attn
