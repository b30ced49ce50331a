// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_image_load: a picture file to one element of an input's batch.
#include "run/LoadImage.h"
#include "io/File.h"
#include "run/Model.h"

using namespace attn;

static constexpr size_t maxFile = 1 << 30;

attn_status attn::readPicture(const char *path, Image &image, Error &error) {
  Vector<char> file;
  if (attn_status status = readFile(path, maxFile, file, error))
    return status;
  auto *bytes = reinterpret_cast<const unsigned char *>(file.data());
  char problem[256] = "";
  bool isGood = false;
  if (file.size() >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
    isGood = decodePng(bytes, file.size(), image, problem);
  else if (file.size() >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
    isGood = decodeJpeg(bytes, file.size(), image, problem);
  else
    return error.set(ATTN_BAD_INPUT, "R0303", "`%s` is neither a PNG nor a JPEG file", path);
  if (isGood && turnUpright(image))
    return ATTN_OK;
  if (!*problem)
    return error.outOfMemory("a picture");
  Text quoted;
  quoted.appendQuoted(problem, strlen(problem));
  return error.set(ATTN_BAD_INPUT, "R0302", "the picture `%s` is damaged: %s", path,
                   quoted.c_str());
}

/// Half of what is left over, rounded to the nearest, halves to even.
static int64_t evenHalf(int64_t rest) {
  int64_t half = rest >> 1;
  return half + (rest & half & 1);
}

/// The size of a picture whose sides keep their ratio and lie within the tensor, one of them as
/// long.
static void sizeWithin(const Image &image, const attn_abi_image &spec, PictureFrame &frame) {
  double across = double(spec.width) / image.width, down = double(spec.height) / image.height,
         scale = across < down ? across : down;
  frame.width = int64_t(image.width * scale + 0.5);
  frame.height = int64_t(image.height * scale + 0.5);
  frame.width = frame.width < 1 ? 1 : frame.width;
  frame.height = frame.height < 1 ? 1 : frame.height;
}

// The longer edge goes with the shorter one, rounded down, as in torchvision and in Hugging Face's
// processors.
PictureFrame attn::frameOf(const Image &image, const attn_abi_image &spec) {
  PictureFrame frame{};
  if (spec.fit == ATTN_FIT_WITHIN) {
    sizeWithin(image, spec, frame);
    return frame;
  }
  frame.width = spec.resizedHeight ? spec.resizedWidth : spec.width;
  frame.height = spec.resizedHeight ? spec.resizedHeight : spec.height;
  if (!frame.width && image.width <= image.height) {
    frame.width = spec.resizedHeight;
    frame.height = frame.width * image.height / image.width;
  } else if (!frame.width) {
    frame.width = frame.height * image.width / image.height;
  }
  int64_t across = frame.width - spec.width, down = frame.height - spec.height;
  bool isRounded = spec.fit == ATTN_FIT_ROUND; // else rounded down, negative ones, too
  frame.left = isRounded ? evenHalf(across) : across >> 1;
  frame.top = isRounded ? evenHalf(down) : down >> 1;
  return frame;
}

/// Resizes a picture to the size of a frame.
static bool resize(const Image &image, const PictureFrame &frame, int32_t filter, Image &resized) {
  constexpr int64_t most = 1 << 20; // of a line that is a million pixels long
  return frame.width <= most && frame.height <= most &&
         uint64_t(frame.width) * uint64_t(frame.height) <= maxPixels &&
         resizeImage(image, int32_t(frame.width), int32_t(frame.height), filter, resized);
}

/// Writes the tensor [C, height, width] of a resized picture. Beside it are black pixels, or zeros
/// of the tensor where it lies within.
static void writeTensor(const Image &resized, const PictureFrame &frame, const attn_abi_image &spec,
                        float *values) {
  size_t channels = size_t(spec.channels);
  for (size_t c = 0; c < channels; ++c)
    for (int64_t y = frame.top; y < frame.top + spec.height; ++y)
      for (int64_t x = frame.left; x < frame.left + spec.width; ++x) {
        bool isInside = y >= 0 && y < resized.height && x >= 0 && x < resized.width;
        float level = 0;
        if (isInside)
          level = resized.pixels[(size_t(y) * size_t(resized.width) + size_t(x)) * channels + c];
        *values++ = !isInside && spec.fit == ATTN_FIT_WITHIN
                        ? 0
                        : (level / 255.0f - spec.mean[c]) / spec.std[c];
      }
}

static attn_status loadImage(const attn_model *model, int32_t entry, int32_t input,
                             const char *path, float *values, Error &error) {
  if (!model || !path || !values)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_image_load: null pointer");
  const attn_abi_image *spec = nullptr;
  for (int32_t i = 0; i < model->tables->imageCount; ++i)
    if (model->tables->images[i].entry == entry && model->tables->images[i].input == input)
      spec = &model->tables->images[i];
  if (!spec)
    return error.set(ATTN_NOT_FOUND, "R0102", "input %d of entry %d takes no picture", int(input),
                     int(entry));
  Image image, resized;
  if (attn_status status = readPicture(path, image, error))
    return status;
  PictureFrame frame = frameOf(image, *spec);
  if (!convertChannels(image, spec->channels) || !resize(image, frame, spec->filter, resized))
    return error.outOfMemory("a picture");
  writeTensor(resized, frame, *spec, values);
  return ATTN_OK;
}

extern "C" attn_status attn_image_load(const attn_model *model, int32_t entry, int32_t input,
                                       const char *path, float *values, char **message) {
  Error error;
  loadImage(model, entry, input, path, values, error);
  return error.report(message);
}
