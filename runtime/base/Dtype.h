// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of tensors (ATTN_F32 and others of attn.h), and the floats among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace attn {

/// The product of a shape; false where it does not fit int64 or a size is negative.
bool countElements(const int64_t *shape, int32_t rank, int64_t &count);

/// f32, f16, bf16 or f64: these convert to each other when weights are packed.
bool isFloat(int32_t dtype);

/// The float of these bits.
inline float floatOfBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// The bits of a float.
inline uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// IEEE half to float, bit by bit (no compiler builtin: those call into libgcc).
/// Without branches, as all that is called for each weight, so that loops over runs become vectors.
inline float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  // Subnormal: low * 2^-24, exact. The exponent of infinity and NaN is the highest there, too.
  float small = float(int32_t(magnitude)) * floatOfBits(0x33800000);
  uint32_t shifted = (magnitude << 13) + (magnitude < 0x7c00 ? 112u << 23 : 224u << 23);
  return floatOfBits(sign | (magnitude < 0x400 ? bitsOfFloat(small) : shifted));
}

/// bfloat16 to float.
inline float bfloatToFloat(uint16_t bits) { return floatOfBits(uint32_t(bits) << 16); }

/// Floats of 8 bits: 4 of exponent and NaN but no infinity, or 5 as in the upper half of IEEE half;
/// a power of two, 2^(bits - 127), of which 255 is NaN.
float e4m3ToFloat(uint8_t bits);
float e5m2ToFloat(uint8_t bits);
float e8m0ToFloat(uint8_t bits);
/// The 4 low bits as a float: a sign, 2 bits of exponent, 1 of mantissa.
float e2m1ToFloat(unsigned bits);

/// Rounds to nearest even.
inline uint16_t floatToBfloat(float value) {
  uint32_t bits = bitsOfFloat(value), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return uint16_t((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded); // stays a NaN
}

/// Rounds to nearest even.
inline uint16_t floatToHalf(float value) {
  uint32_t bits = bitsOfFloat(value), magnitude = bits & 0x7fffffff;
  // Subnormal: adding 0.5 puts the rounded multiple of 2^-24 into the low bits.
  uint32_t small = bitsOfFloat(floatOfBits(magnitude) + 0.5f) - 0x3f000000,
           rounded = (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13,
           finite = magnitude < 0x38800000 ? small : rounded,
           huge = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
  return uint16_t((bits >> 16 & 0x8000) | (magnitude >= 0x47800000 ? huge : finite)); // 65536
}

/// Element `index` of an array of one of the float types, as f32.
float loadFloat(const void *data, int32_t dtype, int64_t index);
/// Elements [index, index + count) of such an array.
void loadFloats(const void *data, int32_t dtype, int64_t index, int64_t count, float *values);

} // namespace attn
