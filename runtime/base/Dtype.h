// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of tensors (ATTN_F32 and others of attn.h), and the floats among them.
#ifndef ATTN_BASE_DTYPE_H
#define ATTN_BASE_DTYPE_H
#include <cstddef>
#include <cstdint>

namespace attn {

/// The product of a shape; false where it does not fit int64 or a size is negative.
bool countElements(const int64_t *shape, int32_t rank, int64_t &count);

/// f32, f16, bf16 or f64: these convert to each other when weights are packed.
bool isFloat(int32_t dtype);

/// IEEE half and bfloat16 to float, bit by bit (no compiler builtin: those call into libgcc).
float halfToFloat(uint16_t bits);
float bfloatToFloat(uint16_t bits);
/// Floats of 8 bits: 4 of exponent and NaN but no infinity, or 5 as in the upper half of IEEE half;
/// a power of two, 2^(bits - 127), of which 255 is NaN.
float e4m3ToFloat(uint8_t bits);
float e5m2ToFloat(uint8_t bits);
float e8m0ToFloat(uint8_t bits);
/// The 4 low bits as a float: a sign, 2 bits of exponent, 1 of mantissa.
float e2m1ToFloat(unsigned bits);
/// Round to nearest even.
uint16_t floatToHalf(float value);
uint16_t floatToBfloat(float value);

/// Element `index` of an array of one of the float types, as f32.
float loadFloat(const void *data, int32_t dtype, int64_t index);

} // namespace attn
#endif
