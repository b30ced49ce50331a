// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resampling by convolution, columns first and then rows, 8 bits in between. As in Pillow the
// kernel widens with the factor by which the picture shrinks, weights are rounded to 22 fractional
// bits, and sums to the nearest level.
#include "attn/abi.h"
#include "io/image/Image.h"
#include <cmath>
#include <utility>

using namespace attn;

static constexpr int fractionBits = 22;

bool Image::allocate(int32_t newWidth, int32_t newHeight, int32_t newChannels) {
  free(pixels);
  width = newWidth, height = newHeight, channels = newChannels;
  pixels = static_cast<unsigned char *>(malloc(size_t(width) * size_t(height) * size_t(channels)));
  return pixels != nullptr;
}

void Image::swap(Image &other) {
  std::swap(width, other.width), std::swap(height, other.height);
  std::swap(channels, other.channels), std::swap(pixels, other.pixels);
}

static double bilinear(double x) {
  x = fabs(x);
  return x < 1 ? 1 - x : 0;
}

/// Keys' cubic with a = -0.5.
static double bicubic(double x) {
  constexpr double a = -0.5;
  x = fabs(x);
  if (x < 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double sinc(double x) {
  if (x == 0)
    return 1;
  x *= 3.14159265358979323846;
  return sin(x) / x;
}

static double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

static double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

static double hamming(double x) {
  x = fabs(x);
  return x >= 1 ? 0 : sinc(x) * (0.54 + 0.46 * cos(3.14159265358979323846 * x));
}

namespace {
/// A filter, and how far it reaches.
struct Filter {
  double (*function)(double);
  double reach;
};

/// For each target pixel the first source pixel, how many there are, and their weights.
struct Kernel {
  int32_t taps;
  Vector<int32_t> first, count, weights; // weights: [target][taps]
};
} // namespace

static Filter filterOf(int32_t filter) {
  switch (filter) {
  case ATTN_FILTER_BILINEAR:
    return {bilinear, 1};
  case ATTN_FILTER_BICUBIC:
    return {bicubic, 2};
  case ATTN_FILTER_BOX:
    return {box, 0.5};
  case ATTN_FILTER_HAMMING:
    return {hamming, 1};
  default:
    return {lanczos, 3};
  }
}

static bool makeKernel(int32_t from, int32_t to, int32_t filter, Kernel &kernel) {
  auto [function, reach] = filterOf(filter);
  double step = double(from) / to, scale = step < 1 ? 1 : step, support = reach * scale;
  kernel.taps = int32_t(ceil(support)) * 2 + 1;
  Vector<double> exact;
  if (!kernel.first.resize(size_t(to)) || !kernel.count.resize(size_t(to)) ||
      !kernel.weights.resize(size_t(to) * size_t(kernel.taps)) ||
      !exact.resize(size_t(kernel.taps)))
    return false;
  for (int32_t x = 0; x < to; ++x) {
    double center = (x + 0.5) * step, total = 0;
    int32_t first = int32_t(floor(center - support + 0.5)),
            last = int32_t(floor(center + support + 0.5));
    first = first < 0 ? 0 : first;
    last = last > from ? from : last;
    for (int32_t i = first; i < last; ++i)
      total += exact[size_t(i - first)] = function((i - center + 0.5) * (1 / scale));
    kernel.first[size_t(x)] = first;
    kernel.count[size_t(x)] = last - first;
    int32_t *weights = kernel.weights.data() + size_t(x) * size_t(kernel.taps);
    for (int32_t i = 0; i < last - first; ++i) {
      double weight =
          (total != 0 ? exact[size_t(i)] / total : exact[size_t(i)]) * (1 << fractionBits);
      weights[i] = int32_t(weight < 0 ? weight - 0.5 : weight + 0.5);
    }
  }
  return true;
}

static unsigned char toLevel(int64_t sum) {
  int64_t level = sum >> fractionBits;
  return static_cast<unsigned char>(level < 0 ? 0 : level > 255 ? 255 : level);
}

static bool resizeColumns(const Image &source, const Kernel &kernel, int32_t width, Image &target) {
  if (!target.allocate(width, source.height, source.channels))
    return false;
  int32_t channels = source.channels;
  for (int32_t y = 0; y < source.height; ++y) {
    const unsigned char *line = source.pixels + size_t(y) * size_t(source.width * channels);
    unsigned char *to = target.pixels + size_t(y) * size_t(width * channels);
    for (int32_t x = 0; x < width; ++x) {
      const int32_t *weights = kernel.weights.data() + size_t(x) * size_t(kernel.taps);
      const unsigned char *from = line + size_t(kernel.first[size_t(x)]) * size_t(channels);
      for (int32_t c = 0; c < channels; ++c) {
        int64_t sum = 1 << (fractionBits - 1);
        for (int32_t i = 0; i < kernel.count[size_t(x)]; ++i)
          sum += int64_t(weights[i]) * from[i * channels + c];
        to[x * channels + c] = toLevel(sum);
      }
    }
  }
  return true;
}

static bool resizeRows(const Image &source, const Kernel &kernel, int32_t height, Image &target) {
  if (!target.allocate(source.width, height, source.channels))
    return false;
  size_t stride = size_t(source.width) * size_t(source.channels);
  for (int32_t y = 0; y < height; ++y) {
    const int32_t *weights = kernel.weights.data() + size_t(y) * size_t(kernel.taps);
    const unsigned char *from = source.pixels + size_t(kernel.first[size_t(y)]) * stride;
    for (size_t x = 0; x < stride; ++x) {
      int64_t sum = 1 << (fractionBits - 1);
      for (int32_t i = 0; i < kernel.count[size_t(y)]; ++i)
        sum += int64_t(weights[i]) * from[size_t(i) * stride + x];
      target.pixels[size_t(y) * stride + x] = toLevel(sum);
    }
  }
  return true;
}

/// Positions are summed up step by step, as Pillow does: at exact halves the rounding decides.
static bool resizeNearest(const Image &source, int32_t width, int32_t height, Image &target) {
  if (!target.allocate(width, height, source.channels))
    return false;
  double xStep = double(source.width) / width, yStep = double(source.height) / height;
  size_t channels = size_t(source.channels);
  double yPosition = 0.5 * yStep;
  for (int32_t y = 0; y < height; ++y, yPosition += yStep) {
    int32_t row = int32_t(yPosition) < source.height ? int32_t(yPosition) : source.height - 1;
    const unsigned char *line = source.pixels + size_t(row) * size_t(source.width) * channels;
    unsigned char *to = target.pixels + size_t(y) * size_t(width) * channels;
    double xPosition = 0.5 * xStep;
    for (int32_t x = 0; x < width; ++x, xPosition += xStep, to += channels) {
      int32_t column = int32_t(xPosition) < source.width ? int32_t(xPosition) : source.width - 1;
      memcpy(to, line + size_t(column) * channels, channels);
    }
  }
  return true;
}

bool attn::resizeImage(const Image &source, int32_t width, int32_t height, int32_t filter,
                       Image &target) {
  if (filter == ATTN_FILTER_NEAREST)
    return resizeNearest(source, width, height, target);
  Image wide;
  const Image *rows = &source;
  if (width != source.width) {
    Kernel kernel;
    if (!makeKernel(source.width, width, filter, kernel) ||
        !resizeColumns(source, kernel, width, wide))
      return false;
    rows = &wide;
  }
  if (height != source.height) {
    Kernel kernel;
    return makeKernel(source.height, height, filter, kernel) &&
           resizeRows(*rows, kernel, height, target);
  }
  if (!target.allocate(width, height, source.channels))
    return false;
  memcpy(target.pixels, rows->pixels, size_t(width) * size_t(height) * size_t(source.channels));
  return true;
}

bool attn::convertChannels(Image &image, int32_t channels) {
  if (image.channels == channels)
    return true;
  size_t count = size_t(image.width) * size_t(image.height);
  if (channels == 1) {
    for (size_t i = 0; i < count; ++i) {
      const unsigned char *rgb = image.pixels + 3 * i;
      image.pixels[i] = static_cast<unsigned char>(
          (rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
    }
    image.channels = 1;
    return true;
  }
  void *grown = realloc(image.pixels, 3 * count);
  if (!grown)
    return false;
  image.pixels = static_cast<unsigned char *>(grown);
  for (size_t i = count; i-- > 0;) { // from the back: the grey pixels lie in front
    unsigned char grey = image.pixels[i];
    memset(image.pixels + 3 * i, grey, 3);
  }
  image.channels = 3;
  return true;
}
