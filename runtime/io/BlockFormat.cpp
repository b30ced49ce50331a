// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of GGUF's quantized types to floats. The layouts are those of ggml's `ggml-common.h`,
// MXFP4 that of the Open Compute Project's "Microscaling Formats (MX)", 1.0. Sums and products are
// rounded to f32 in the order in which ggml writes them.
#include "io/BlockFormat.h"
#include "base/Dtype.h"
#include <cstring>

using namespace attn;

static float halfAt(const unsigned char *at) {
  uint16_t bits;
  memcpy(&bits, at, 2);
  return halfToFloat(bits);
}

static uint32_t wordAt(const unsigned char *at) {
  uint32_t word;
  memcpy(&word, at, 4);
  return word;
}

/// d[2] q[32]: d * q.
static void decodeQ80(const unsigned char *block, float *values) {
  float d = halfAt(block);
  for (int i = 0; i < 32; ++i)
    values[i] = d * float(static_cast<signed char>(block[2 + i]));
}

/// Codes are 128 more than bytes.
static void linesQ80(const unsigned char *block, CodeLine *lines) {
  float d = halfAt(block);
  *lines = {d, -128 * d};
}

static void codesQ80(const unsigned char *block, unsigned char *codes) {
  for (int i = 0; i < 32; ++i)
    codes[i] = block[2 + i] ^ 128;
}

/// The lower halves of `count` bytes, then the upper ones.
static void splitBytes(const unsigned char *bytes, int count, unsigned char *codes) {
  for (int i = 0; i < count; ++i) {
    codes[i] = bytes[i] & 15;
    codes[i + count] = bytes[i] >> 4;
  }
}

/// d[2] q[16], elements i and i + 16 in the low and high half of byte i: d * (q - 8).
static void decodeQ40(const unsigned char *block, float *values) {
  float d = halfAt(block);
  for (int i = 0; i < 16; ++i) {
    values[i] = d * float((block[2 + i] & 15) - 8);
    values[i + 16] = d * float((block[2 + i] >> 4) - 8);
  }
}

static void linesQ40(const unsigned char *block, CodeLine *lines) {
  float d = halfAt(block);
  *lines = {d, -8 * d};
}

static void codesQ40(const unsigned char *block, unsigned char *codes) {
  splitBytes(block + 2, 16, codes);
}

/// d[2] m[2] q[16]: d * q + m.
static void decodeQ41(const unsigned char *block, float *values) {
  float d = halfAt(block), m = halfAt(block + 2);
  for (int i = 0; i < 16; ++i) {
    values[i] = d * float(block[4 + i] & 15) + m;
    values[i + 16] = d * float(block[4 + i] >> 4) + m;
  }
}

static void linesQ41(const unsigned char *block, CodeLine *lines) {
  *lines = {halfAt(block), halfAt(block + 2)};
}

static void codesQ41(const unsigned char *block, unsigned char *codes) {
  splitBytes(block + 4, 16, codes);
}

/// The fifth bit of element `i`, in its place.
static int fifth(uint32_t bits, int i) { return int(bits >> i & 1) << 4; }

/// d[2] h[4] q[16], bit i of h is the fifth of element i: d * (q - 16).
static void decodeQ50(const unsigned char *block, float *values) {
  float d = halfAt(block);
  uint32_t h = wordAt(block + 2);
  for (int i = 0; i < 16; ++i) {
    values[i] = d * float(((block[6 + i] & 15) | fifth(h, i)) - 16);
    values[i + 16] = d * float(((block[6 + i] >> 4) | fifth(h, i + 16)) - 16);
  }
}

/// d[2] m[2] h[4] q[16]: d * q + m.
static void decodeQ51(const unsigned char *block, float *values) {
  float d = halfAt(block), m = halfAt(block + 2);
  uint32_t h = wordAt(block + 4);
  for (int i = 0; i < 16; ++i) {
    values[i] = d * float((block[8 + i] & 15) | fifth(h, i)) + m;
    values[i + 16] = d * float((block[8 + i] >> 4) | fifth(h, i + 16)) + m;
  }
}

/// The scale and the minimum, of 6 bits each, of group `j` of 8; 12 bytes hold all of them.
static void scaleAndMinimum(const unsigned char *packed, int j, int &scale, int &minimum) {
  if (j < 4) {
    scale = packed[j] & 63;
    minimum = packed[j + 4] & 63;
    return;
  }
  scale = (packed[j + 4] & 15) | (packed[j - 4] >> 6 << 4);
  minimum = (packed[j + 4] >> 4) | (packed[j] >> 6 << 4);
}

/// The lines of 8 groups of 32, whose block begins with d[2] m[2] scales[12]: (d * scale) * q - m *
/// minimum.
static void linesOfGroups(const unsigned char *block, CodeLine *lines) {
  float d = halfAt(block), m = halfAt(block + 2);
  for (int j = 0; j < 8; ++j) {
    int scale, minimum;
    scaleAndMinimum(block + 4, j, scale, minimum);
    lines[j] = {d * float(scale), -(m * float(minimum))};
  }
}

/// 8 groups of 32: lines[16] (h[32]) q[128]. Two groups share the bytes of q, and each has a bit of
/// each byte of h.
static void decodeGroups(const unsigned char *block, bool hasFifth, float *values) {
  const unsigned char *h = block + 16, *q = hasFifth ? h + 32 : h;
  CodeLine lines[8];
  linesOfGroups(block, lines);
  for (int j = 0; j < 8; ++j) {
    for (int i = 0; i < 32; ++i) {
      unsigned byte = q[j / 2 * 32 + i];
      int code = int(j % 2 ? byte >> 4 : byte & 15);
      if (hasFifth)
        code |= fifth(h[i], j);
      values[j * 32 + i] = lines[j].step * float(code) + lines[j].least;
    }
  }
}

static void decodeQ4K(const unsigned char *block, float *values) {
  decodeGroups(block, false, values);
}

static void codesQ4K(const unsigned char *block, unsigned char *codes) {
  for (int pair = 0; pair < 4; ++pair)
    splitBytes(block + 16 + 32 * pair, 32, codes + 64 * pair);
}

static void decodeQ5K(const unsigned char *block, float *values) {
  decodeGroups(block, true, values);
}

/// 16 groups of 16: low[128] high[64] scales[16] d[2]. Of each 128 elements, i and i + 64 share
/// byte i of 64 of `low`, and i, i + 32, i + 64 and i + 96 one of 32 of `high`:
/// d * scale * (q - 32).
static void decodeQ6K(const unsigned char *block, float *values) {
  const unsigned char *low = block, *high = block + 128, *scales = block + 192;
  float d = halfAt(block + 208);
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, within = i % 128;
    unsigned four = low[half * 64 + within % 64], two = high[half * 32 + within % 32];
    int code = int(within < 64 ? four & 15 : four >> 4) | int(two >> within / 32 * 2 & 3) << 4;
    float scale = d * float(static_cast<signed char>(scales[i / 16]));
    values[i] = scale * float(code - 32);
  }
}

/// e[1] q[16]: floats of 1 sign, 2 exponent and 1 mantissa bit, times 2^(e - 127). 255 is NaN.
static void decodeMxfp4(const unsigned char *block, float *values) {
  float scale = e8m0ToFloat(block[0]);
  for (int i = 0; i < 16; ++i) {
    values[i] = scale * e2m1ToFloat(block[1 + i]);
    values[i + 16] = scale * e2m1ToFloat(block[1 + i] >> 4);
  }
}

static const BlockFormat formats[] = {
    {"Q4_0", 2, 32, 18, decodeQ40, 4, true, linesQ40, codesQ40},
    {"Q4_1", 3, 32, 20, decodeQ41, 4, false, linesQ41, codesQ41},
    {"Q5_0", 6, 32, 22, decodeQ50, 0, false, nullptr, nullptr},
    {"Q5_1", 7, 32, 24, decodeQ51, 0, false, nullptr, nullptr},
    {"Q8_0", 8, 32, 34, decodeQ80, 8, true, linesQ80, codesQ80},
    {"Q4_K", 12, 256, 144, decodeQ4K, 4, false, linesOfGroups, codesQ4K},
    {"Q5_K", 13, 256, 176, decodeQ5K, 0, false, nullptr, nullptr},
    {"Q6_K", 14, 256, 210, decodeQ6K, 0, false, nullptr, nullptr},
    {"MXFP4", 39, 32, 17, decodeMxfp4, 0, false, nullptr, nullptr}};

const BlockFormat *attn::findBlockFormat(uint32_t number) {
  for (const BlockFormat &format : formats)
    if (format.number == number)
      return &format;
  return nullptr;
}

void attn::decodeBlocks(const BlockFormat &format, const char *blocks, int64_t skip, int64_t count,
                        float *values) {
  auto *at = reinterpret_cast<const unsigned char *>(blocks);
  float whole[256];
  for (; count > 0; at += format.bytes, skip = 0) {
    int64_t taken = format.elements - skip < count ? format.elements - skip : count;
    if (taken == format.elements) {
      format.decode(at, values);
    } else {
      format.decode(at, whole);
      memcpy(values, whole + skip, size_t(taken) * sizeof(float));
    }
    values += taken;
    count -= taken;
  }
}
