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

static float fromBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t toBits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

float attn::bfloatToFloat(uint16_t bits) { return fromBits(uint32_t(bits) << 16); }

float attn::halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, low = bits & 1023;
  if (exponent == 31)
    return fromBits(sign | 0x7f800000 | low << 13);
  if (exponent != 0)
    return fromBits(sign | (exponent + 112) << 23 | low << 13);
  float magnitude = float(low) * fromBits(0x33800000); // subnormal: low * 2^-24, exact
  return fromBits(sign | toBits(magnitude));
}

float attn::e4m3ToFloat(uint8_t bits) {
  uint32_t sign = uint32_t(bits & 0x80) << 24, exponent = (bits >> 3) & 15, low = bits & 7;
  if ((bits & 0x7f) == 0x7f)
    return fromBits(sign | 0x7fc00000);
  if (exponent != 0)
    return fromBits(sign | (exponent + 120) << 23 | low << 20);
  return fromBits(sign | toBits(float(low) * fromBits(0x3b000000))); // subnormal: low * 2^-9
}

float attn::e5m2ToFloat(uint8_t bits) { return halfToFloat(uint16_t(bits << 8)); }

float attn::e8m0ToFloat(uint8_t bits) {
  if (bits == 255)
    return fromBits(0x7fc00000);
  return fromBits(bits ? uint32_t(bits) << 23 : 0x400000); // 2^-127 is half of the least normal
}

float attn::e2m1ToFloat(unsigned bits) {
  static const float codes[16] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                  -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  return codes[bits & 15];
}

uint16_t attn::floatToBfloat(float value) {
  uint32_t bits = toBits(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40); // stays a NaN
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t attn::floatToHalf(float value) {
  uint32_t bits = toBits(value), magnitude = bits & 0x7fffffff;
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  if (magnitude > 0x7f800000)
    return sign | 0x7e00;
  if (magnitude >= 0x47800000) // 65536 and above
    return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Subnormal: adding 0.5 puts the rounded multiple of 2^-24 into the low bits.
    return sign | uint16_t(toBits(fromBits(magnitude) + 0.5f) - 0x3f000000);
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return sign | uint16_t((rounded - 0x38000000) >> 13);
}

float attn::loadFloat(const void *data, int32_t dtype, int64_t index) {
  // Elements of a checkpoint in memory need not be aligned.
  const char *at = static_cast<const char *>(data) + index * int64_t(attn_dtype_size(dtype));
  uint16_t half;
  float single;
  double wide;
  switch (dtype) {
  case ATTN_F16:
    memcpy(&half, at, 2);
    return halfToFloat(half);
  case ATTN_BF16:
    memcpy(&half, at, 2);
    return bfloatToFloat(half);
  case ATTN_F64:
    memcpy(&wide, at, 8);
    return float(wide);
  default:
    memcpy(&single, at, 4);
    return single;
  }
}
