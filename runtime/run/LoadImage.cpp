// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_image_load: a picture file to one element of an input's batch.
#include "run/LoadImage.h"
#include "io/File.h"
#include "run/Model.h"

using namespace attn;

static constexpr size_t kMaxFile = 1 << 30;

attn_status attn::readPicture(const char *path, Image &image, Error &error) {
  Vector<char> file;
  if (attn_status status = readFile(path, kMaxFile, file, error))
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
  if (isGood)
    return ATTN_OK;
  Text quoted;
  quoted.appendQuoted(problem, strlen(problem));
  return error.set(ATTN_BAD_INPUT, "R0302", "the picture `%s` is damaged: %s", path,
                   quoted.c_str());
}

// The longer edge goes with the shorter one, rounded down, as in torchvision and in Hugging Face's
// processors.
void attn::resizedSize(const Image &image, const attn_abi_image &spec, int64_t &width,
                       int64_t &height) {
  width = spec.resizedHeight ? spec.resizedWidth : spec.width;
  height = spec.resizedHeight ? spec.resizedHeight : spec.height;
  if (!width && image.width <= image.height) {
    width = spec.resizedHeight;
    height = width * image.height / image.width;
  } else if (!width) {
    width = height * image.width / image.height;
  }
}

/// Resizes a picture as the model says it.
static bool resize(const Image &image, const attn_abi_image &spec, Image &resized) {
  int64_t width = 0, height = 0;
  resizedSize(image, spec, width, height);
  constexpr int64_t most = 1 << 20; // of a line that is a million pixels long
  return width <= most && height <= most && uint64_t(width) * uint64_t(height) <= kMaxPixels &&
         resizeImage(image, int32_t(width), int32_t(height), spec.filter, resized);
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
  if (!convertChannels(image, spec->channels) || !resize(image, *spec, resized))
    return error.outOfMemory("a picture");
  int32_t left = (resized.width - spec->width) / 2, top = (resized.height - spec->height) / 2;
  size_t area = size_t(spec->width) * size_t(spec->height), channels = size_t(spec->channels);
  for (size_t c = 0; c < channels; ++c)
    for (size_t i = 0; i < area; ++i) {
      size_t y = size_t(top) + i / size_t(spec->width), x = size_t(left) + i % size_t(spec->width);
      unsigned char pixel = resized.pixels[(y * size_t(resized.width) + x) * channels + c];
      values[c * area + i] = (float(pixel) / 255.0f - spec->mean[c]) / spec->std[c];
    }
  return ATTN_OK;
}

extern "C" attn_status attn_image_load(const attn_model *model, int32_t entry, int32_t input,
                                       const char *path, float *values, char **message) {
  Error error;
  loadImage(model, entry, input, path, values, error);
  return error.report(message);
}
