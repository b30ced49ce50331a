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

/// What the 16 codes of IQ4_NL and IQ4_XS stand for.
static const signed char unevenSteps[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

/// `count` bytes of codes whose elements are steps of `d`.
static void decodeUneven(const unsigned char *bytes, int count, float d, float *values) {
  for (int i = 0; i < count; ++i) {
    values[i] = d * float(unevenSteps[bytes[i] & 15]);
    values[i + count] = d * float(unevenSteps[bytes[i] >> 4]);
  }
}

/// d[2] q[16]: d * step.
static void decodeIq4Nl(const unsigned char *block, float *values) {
  decodeUneven(block + 2, 16, halfAt(block), values);
}

/// 8 groups of 32: d[2] high[2] low[4] q[128]; a scale has 4 bits in `low` and 2 in `high`:
/// d * (scale - 32) * step.
static void decodeIq4Xs(const unsigned char *block, float *values) {
  float d = halfAt(block);
  unsigned high = block[2] | unsigned(block[3]) << 8;
  for (int j = 0; j < 8; ++j) {
    int low = block[4 + j / 2] >> j % 2 * 4 & 15, scale = low | int(high >> 2 * j & 3) << 4;
    decodeUneven(block + 8 + 16 * j, 16, d * float(scale - 32), values + 32 * j);
  }
}

/// Codes of 2 bits: of each 128 elements, i, i + 32, i + 64 and i + 96 share one of 32 bytes.
static int pairOfBits(const unsigned char *q, int i) {
  return q[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
}

/// 16 groups of 16: scales[16] q[64] d[2] m[2]; a scale and a minimum have 4 bits of a byte:
/// (d * scale) * q - m * minimum.
static void decodeQ2K(const unsigned char *block, float *values) {
  float d = halfAt(block + 80), m = halfAt(block + 82);
  for (int i = 0; i < 256; ++i) {
    int scale = block[i / 16];
    float step = d * float(scale & 15), least = m * float(scale >> 4);
    values[i] = step * float(pairOfBits(block + 16, i)) - least;
  }
}

/// 16 groups of 16: high[32] q[64] scales[12] d[2]; a scale has 4 bits in 8 of the bytes and 2 in 4
/// of them, and a code a third bit in `high`: d * (scale - 32) * (q - 4).
static void decodeQ3K(const unsigned char *block, float *values) {
  const unsigned char *scales = block + 96;
  float d = halfAt(block + 108);
  for (int i = 0; i < 256; ++i) {
    int j = i / 16, low = scales[j % 8] >> j / 8 * 4 & 15,
        scale = low | (scales[8 + j % 4] >> j / 4 * 2 & 3) << 4;
    int third = block[i % 32] >> i / 32 & 1, code = pairOfBits(block + 32, i) | third << 2;
    values[i] = d * float(scale - 32) * float(code - 4);
  }
}

/// Digit `n` of a byte that holds five of base 3, as a fraction of 256.
static float ternaryDigit(unsigned char byte, int n, float d) {
  static const unsigned char powers[] = {1, 3, 9, 27, 81};
  auto shifted = static_cast<unsigned char>(byte * powers[n]);
  return float(int(unsigned(shifted) * 3 >> 8) - 1) * d;
}

/// q[48] h[4] d[2]: five elements in a byte of q, by 32 and then by 16 bytes, and four in one of h.
static void decodeTq10(const unsigned char *block, float *values) {
  float d = halfAt(block + 52);
  struct {
    int at, bytes, digits;
  } static const parts[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
  for (auto [at, bytes, digits] : parts)
    for (int n = 0; n < digits; ++n)
      for (int i = 0; i < bytes; ++i)
        *values++ = ternaryDigit(block[at + i], n, d);
}

/// q[64] d[2]: d * (q - 1).
static void decodeTq20(const unsigned char *block, float *values) {
  float d = halfAt(block + 64);
  for (int i = 0; i < 256; ++i)
    values[i] = float(pairOfBits(block, i) - 1) * d;
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
    {"Q2_K", 10, 256, 84, decodeQ2K, 0, false, nullptr, nullptr},
    {"Q3_K", 11, 256, 110, decodeQ3K, 0, false, nullptr, nullptr},
    {"IQ4_NL", 20, 32, 18, decodeIq4Nl, 0, false, nullptr, nullptr},
    {"IQ4_XS", 23, 256, 136, decodeIq4Xs, 0, false, nullptr, nullptr},
    {"TQ1_0", 34, 256, 54, decodeTq10, 0, false, nullptr, nullptr},
    {"TQ2_0", 35, 256, 66, decodeTq20, 0, false, nullptr, nullptr},
    {"MXFP4", 39, 32, 17, decodeMxfp4, 0, false, nullptr, nullptr}};

void attn::appendBlockFormats(Text &text) {
  for (const BlockFormat &format : formats)
    text.append("%s%s", text.size() ? ", " : "", format.name);
}

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
