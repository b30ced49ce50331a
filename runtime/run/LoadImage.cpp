// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_image_load and attn_picture_read: a picture file to one element of an input's batch, or to
// patches.
#include "run/LoadImage.h"
#include "io/File.h"
#include "run/Model.h"
#include "run/PictureGrid.h"
#include <algorithm>
#include <cmath>

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
  frame.width = std::lround(image.width * scale);
  frame.height = std::lround(image.height * scale);
  frame.width = frame.width < 1 ? 1 : frame.width;
  frame.height = frame.height < 1 ? 1 : frame.height;
}

/// How many times as long as the other a side of a picture may be that is cut into patches.
static constexpr int longest = 200;

static bool isLong(const Image &image, const attn_abi_image &spec) {
  return spec.leastPixels && std::max(image.width, image.height) >
                                 longest * int64_t(std::min(image.width, image.height));
}

/// The size of a picture whose sides become multiples of a square of patches, as large as the most
/// pixels allow, as Gemma 4's processor has it (Google 2026, "Gemma 4"). A side that would be
/// shorter than a square is one.
static void fillPatches(const Image &image, const attn_abi_image &spec, PictureFrame &frame) {
  double across = double(spec.width) * spec.merged, down = double(spec.height) * spec.merged,
         width = image.width, height = image.height, most = double(spec.mostPixels),
         scale = std::sqrt(most / (width * height)),
         squares = std::max(1.0, std::floor(most / (across * down)));
  double w = std::floor(scale * width / across), h = std::floor(scale * height / down);
  if (h < 1)
    h = 1, w = std::min(std::floor(width / height), squares);
  else if (w < 1)
    w = 1, h = std::min(std::floor(height / width), squares);
  frame.height = int64_t(std::max(h, 1.0) * down);
  frame.width = int64_t(std::max(w, 1.0) * across);
}

/// The size of a picture whose sides become multiples of a square of patches, between the least and
/// the most pixels, as Qwen2-VL's processor has it (Wang et al. 2024, "Qwen2-VL").
static void sizeOfPatches(const Image &image, const attn_abi_image &spec, PictureFrame &frame) {
  double across = double(spec.width) * spec.merged, down = double(spec.height) * spec.merged,
         width = image.width, height = image.height;
  // Halves go to even numbers.
  double w = std::nearbyint(width / across) * across, h = std::nearbyint(height / down) * down;
  if (h * w > double(spec.mostPixels)) {
    double shrunk = std::sqrt(height * width / double(spec.mostPixels));
    h = std::max(down, std::floor(height / shrunk / down) * down);
    w = std::max(across, std::floor(width / shrunk / across) * across);
  } else if (h * w < double(spec.leastPixels)) {
    double grown = std::sqrt(double(spec.leastPixels) / (height * width));
    h = std::ceil(height * grown / down) * down;
    w = std::ceil(width * grown / across) * across;
  }
  frame.height = int64_t(h), frame.width = int64_t(w);
}

/// The size of a picture that keeps its ratio within a square of `edge` pixels, and whose sides are
/// made whole squares of patches then, as Pixtral's processor has it (Agrawal et al. 2024, "Pixtral
/// 12B").
static void sizeWithinEdge(const Image &image, const attn_abi_image &spec, PictureFrame &frame) {
  double ratio = std::max(double(image.width), double(image.height)) / spec.edge;
  auto whole = [&](int64_t length, int64_t patch) {
    if (ratio > 1)
      length = int64_t(std::floor(double(length) / ratio));
    int64_t square = patch * spec.merged;
    return (std::max<int64_t>(length, 1) + square - 1) / square * square;
  };
  frame.width = whole(image.width, spec.width), frame.height = whole(image.height, spec.height);
}

/// The size of a picture whose longer edge is of a given length, the other in proportion, a
/// multiple of two. This and the next are as Idefics 3's processor has them (Laurencon et al. 2024,
/// "Building and better understanding vision-language models").
static PictureFrame sizeOfEdge(const Image &image, const attn_abi_image &spec) {
  PictureFrame frame{};
  double ratio = double(image.width) / double(image.height);
  bool isWide = image.width >= image.height;
  auto other = int64_t(isWide ? spec.edge / ratio : spec.edge * ratio);
  other += other % 2;
  other = std::max<int64_t>(other, 1);
  frame.width = isWide ? spec.edge : other, frame.height = isWide ? other : spec.edge;
  return frame;
}

/// The least size of whole tiles that a picture of about the same ratio fills.
static PictureFrame sizeOfTiles(const Image &image, const attn_abi_image &spec) {
  auto whole = [](int64_t length, int64_t tile) { return (length + tile - 1) / tile * tile; };
  PictureFrame frame{};
  double ratio = double(image.width) / double(image.height);
  if (image.width >= image.height) {
    frame.width = whole(image.width, spec.width);
    frame.height = whole(int64_t(double(frame.width) / ratio), spec.height);
  } else {
    frame.height = whole(image.height, spec.height);
    frame.width = whole(int64_t(double(frame.height) * ratio), spec.width);
  }
  frame.width = std::max<int64_t>(frame.width, spec.width);
  frame.height = std::max<int64_t>(frame.height, spec.height);
  return frame;
}

/// The grid of tiles whose ratio is nearest; of several the one with more tiles, as long as the
/// picture has more than half of their pixels. As InternVL's processor has it (Chen et al. 2024,
/// "How Far Are We to GPT-4V?").
static PictureFrame nearestTiles(const Image &image, const attn_abi_image &spec) {
  double ratio = double(image.width) / double(image.height), nearest = INFINITY,
         area = double(image.width) * double(image.height);
  int64_t columns = 1, rows = 1;
  for (int64_t tiles = spec.leastTiles; tiles <= spec.mostTiles; ++tiles)
    for (int64_t across = 1; across <= tiles; ++across) {
      if (tiles % across)
        continue;
      int64_t down = tiles / across;
      double far = std::fabs(ratio - double(across) / double(down));
      bool isFilled = area > 0.5 * spec.width * spec.height * double(tiles);
      if (far < nearest || (far == nearest && isFilled))
        nearest = far, columns = across, rows = down;
    }
  PictureFrame frame{};
  frame.width = columns * spec.width, frame.height = rows * spec.height;
  return frame;
}

// The longer edge goes with the shorter one, rounded down, as in torchvision and in Hugging Face's
// processors.
PictureFrame attn::frameOf(const Image &image, const attn_abi_image &spec) {
  PictureFrame frame{};
  if (spec.fit == ATTN_FIT_TILES)
    return spec.edge ? sizeOfTiles(image, spec) : nearestTiles(image, spec);
  if (spec.fit == ATTN_FIT_PATCHES) {
    (spec.edge          ? sizeWithinEdge
     : spec.leastPixels ? sizeOfPatches
                        : fillPatches)(image, spec, frame);
    return frame;
  }
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

/// Writes the tensor [C, height, width] of a resized picture from a place of it on. Beside it are
/// black pixels, or zeros of the tensor where it lies within.
static void writeTensor(const Image &resized, int64_t top, int64_t left, const attn_abi_image &spec,
                        float *values) {
  size_t channels = size_t(spec.channels);
  for (size_t c = 0; c < channels; ++c)
    for (int64_t y = top; y < top + spec.height; ++y)
      for (int64_t x = left; x < left + spec.width; ++x) {
        bool isInside = y >= 0 && y < resized.height && x >= 0 && x < resized.width;
        float level = 0;
        if (isInside)
          level = resized.pixels[(size_t(y) * size_t(resized.width) + size_t(x)) * channels + c];
        *values++ = !isInside && spec.fit == ATTN_FIT_WITHIN
                        ? 0
                        : (level / 255.0f - spec.mean[c]) / spec.std[c];
      }
}

namespace {

/// One picture on its way to a tensor.
struct LoadedImage {
  const attn_abi_image *spec = nullptr;
  PictureFrame frame{};
  Image resized, whole; ///< and behind tiles
};

} // namespace

/// Decodes a picture, and resizes it as input `input` of an entry takes it.
static attn_status load(const attn_model *model, int32_t entry, int32_t input, const char *path,
                        LoadedImage &to, Error &error) {
  to.spec = imageOf(*model->tables, entry, input);
  if (!to.spec)
    return error.set(ATTN_NOT_FOUND, "R0102", "input %d of entry %d takes no picture", int(input),
                     int(entry));
  Image image;
  if (attn_status status = readPicture(path, image, error))
    return status;
  if (to.spec->fit == ATTN_FIT_PATCHES && isLong(image, *to.spec)) {
    error.set(ATTN_BAD_INPUT, "R0302", "the picture `%s` is %d x %d: its sides differ too much",
              path, int(image.width), int(image.height));
    error.help("cut it, so that one side is at most %d times as long as the other", longest);
    return error.status;
  }
  bool hasRoom = convertChannels(image, to.spec->channels),
       hasEdge = to.spec->fit == ATTN_FIT_TILES && to.spec->edge > 0;
  Image edged;
  hasRoom =
      hasRoom && (!hasEdge || resize(image, sizeOfEdge(image, *to.spec), to.spec->filter, edged));
  const Image &from = hasEdge ? edged : image;
  if (hasRoom)
    to.frame = frameOf(from, *to.spec);
  if (!hasRoom || !resize(from, to.frame, to.spec->filter, to.resized))
    return error.outOfMemory("a picture");
  if (to.spec->fit != ATTN_FIT_TILES)
    return ATTN_OK;
  PictureFrame one{};
  one.width = to.spec->width, one.height = to.spec->height;
  bool isMade = resize(hasEdge ? to.resized : image, one, to.spec->filter, to.whole);
  return isMade ? ATTN_OK : error.outOfMemory("a picture");
}

extern "C" attn_status attn_image_load(const attn_model *model, int32_t entry, int32_t input,
                                       const char *path, float *values, char **message) {
  Error error;
  LoadedImage image;
  if (!model || !path || !values)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_image_load: null pointer");
  else if (load(model, entry, input, path, image, error) == ATTN_OK) {
    if (image.spec->fit == ATTN_FIT_PATCHES || image.spec->fit == ATTN_FIT_TILES)
      error.set(ATTN_NOT_FOUND, "R0102", "input %d of entry %d takes pieces of a picture",
                int(input), int(entry));
    else
      writeTensor(image.resized, image.frame.top, image.frame.left, *image.spec, values);
  }
  return error.report(message);
}

/// The tensors of a picture that has been resized.
static attn_status cut(const LoadedImage &image, attn_picture &to, Error &error) {
  const attn_abi_image &spec = *image.spec;
  bool hasTiles = spec.fit == ATTN_FIT_TILES, isCut = hasTiles || spec.fit == ATTN_FIT_PATCHES;
  to.rows = isCut ? image.frame.height / spec.height : 1;
  to.columns = isCut ? image.frame.width / spec.width : 1;
  to.merged = isCut && !hasTiles ? spec.merged : 1;
  int64_t pieces = to.rows * to.columns;
  to.count = pieces + (hasTiles && pieces > 1);
  size_t size = size_t(spec.channels) * size_t(spec.height) * size_t(spec.width);
  PictureGrid grid;
  to.values = static_cast<float *>(malloc(size_t(to.count) * size * sizeof(float)));
  if (!to.values || !grid.take(to)) {
    attn_picture_free(&to);
    return error.outOfMemory("a picture");
  }
  if (to.count > pieces)
    writeTensor(image.whole, 0, 0, spec, to.values + size_t(pieces) * size);
  for (int64_t patch = 0; patch < pieces; ++patch)
    writeTensor(image.resized, image.frame.top + grid.row(patch) * spec.height,
                image.frame.left + grid.column(patch) * spec.width, spec,
                to.values + size_t(patch) * size);
  return ATTN_OK;
}

extern "C" attn_status attn_picture_read(const attn_model *model, int32_t entry, int32_t input,
                                         const char *path, attn_picture *picture, char **message) {
  Error error;
  LoadedImage image;
  attn_picture made = {};
  if (!model || !path || !picture)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_picture_read: null pointer");
  else if (load(model, entry, input, path, image, error) == ATTN_OK &&
           cut(image, made, error) == ATTN_OK)
    *picture = made;
  return error.report(message);
}

extern "C" void attn_picture_free(attn_picture *picture) {
  if (!picture)
    return;
  free(picture->values);
  *picture = {};
}
