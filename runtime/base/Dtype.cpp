// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and sizes of dtypes, and conversions of 16-bit floats bit by bit.
#include "base/Dtype.h"
#include "attn/attn.h"
#include <cstring>

using namespace attn;

extern "C" size_t attn_dtype_size(int32_t dtype) {
  switch (dtype) {
  case ATTN_F32:
  case ATTN_I32:
    return 4;
  case ATTN_F16:
  case ATTN_BF16:
    return 2;
  case ATTN_I64:
  case ATTN_F64:
    return 8;
  case ATTN_U8:
  case ATTN_BOOL:
    return 1;
  }
  return 0;
}

extern "C" const char *attn_dtype_name(int32_t dtype) {
  switch (dtype) {
  case ATTN_F32:
    return "f32";
  case ATTN_F16:
    return "f16";
  case ATTN_BF16:
    return "bf16";
  case ATTN_I32:
    return "i32";
  case ATTN_I64:
    return "i64";
  case ATTN_U8:
    return "u8";
  case ATTN_BOOL:
    return "bool";
  case ATTN_F64:
    return "f64";
  }
  return "?";
}

bool attn::countElements(const int64_t *shape, int32_t rank, int64_t &count) {
  // A size of 0 anywhere makes an empty tensor, but the other sizes still may not overflow.
  bool isEmpty = false;
  int64_t product = 1;
  for (int32_t a = 0; a < rank; ++a) {
    if (shape[a] < 0)
      return false;
    if (shape[a] == 0)
      isEmpty = true;
    else if (__builtin_mul_overflow(product, shape[a], &product))
      return false;
  }
  count = isEmpty ? 0 : product;
  return true;
}

bool attn::isFloat(int32_t dtype) {
  return dtype == ATTN_F32 || dtype == ATTN_F16 || dtype == ATTN_BF16 || dtype == ATTN_F64;
}

float attn::e4m3ToFloat(uint8_t bits) {
  uint32_t sign = uint32_t(bits & 0x80) << 24, exponent = (bits >> 3) & 15, low = bits & 7;
  if ((bits & 0x7f) == 0x7f)
    return floatOfBits(sign | 0x7fc00000);
  if (exponent != 0)
    return floatOfBits(sign | (exponent + 120) << 23 | low << 20);
  return floatOfBits(sign |
                     bitsOfFloat(float(low) * floatOfBits(0x3b000000))); // subnormal: low * 2^-9
}

float attn::e5m2ToFloat(uint8_t bits) { return halfToFloat(uint16_t(bits << 8)); }

float attn::e8m0ToFloat(uint8_t bits) {
  if (bits == 255)
    return floatOfBits(0x7fc00000);
  return floatOfBits(bits ? uint32_t(bits) << 23 : 0x400000); // 2^-127 is half of the least normal
}

float attn::e2m1ToFloat(unsigned bits) {
  static const float codes[16] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                  -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  return codes[bits & 15];
}

/// The float types' elements as f32, each read from its first byte.
namespace {
struct Single {
  static constexpr int64_t bytes = 4;
  static float load(const char *at) {
    float value;
    memcpy(&value, at, sizeof value);
    return value;
  }
};

struct Double {
  static constexpr int64_t bytes = 8;
  static float load(const char *at) {
    double value;
    memcpy(&value, at, sizeof value);
    return float(value);
  }
};

template <float (*toFloat)(uint16_t)> struct Short {
  static constexpr int64_t bytes = 2;
  static float load(const char *at) {
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return toFloat(bits);
  }
};
} // namespace

template <typename Element>
static void loadRun(const void *data, int64_t index, int64_t count, float *values) {
  // Elements of a checkpoint in memory need not be aligned.
  const char *at = static_cast<const char *>(data) + index * Element::bytes;
  for (int64_t i = 0; i < count; ++i)
    values[i] = Element::load(at + i * Element::bytes);
}

void attn::loadFloats(const void *data, int32_t dtype, int64_t index, int64_t count,
                      float *values) {
  switch (dtype) {
  case ATTN_F16:
    return loadRun<Short<halfToFloat>>(data, index, count, values);
  case ATTN_BF16:
    return loadRun<Short<bfloatToFloat>>(data, index, count, values);
  case ATTN_F64:
    return loadRun<Double>(data, index, count, values);
  default:
    return loadRun<Single>(data, index, count, values);
  }
}

float attn::loadFloat(const void *data, int32_t dtype, int64_t index) {
  float value;
  loadFloats(data, dtype, index, 1, &value);
  return value;
}
