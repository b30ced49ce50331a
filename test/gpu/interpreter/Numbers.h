// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The number formats of the GPU as bits: f16, bf16 and tf32 next to the host's f32 and f64, with
// the roundings that instructions name (rn: to nearest even, rz: towards zero).
#pragma once

#include <cstdint>
#include <cstring>

namespace attn::ptx {

/// The bits of `value`, or a value of type To with the bits of `from`; sizes are equal.
template <typename To, typename From> To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

inline float floatOf(uint64_t bits) { return bitCast<float>(uint32_t(bits)); }
inline double doubleOf(uint64_t bits) { return bitCast<double>(bits); }
inline uint64_t bitsOf(float value) { return bitCast<uint32_t>(value); }
inline uint64_t bitsOf(double value) { return bitCast<uint64_t>(value); }

/// A binary format narrower than f32: its fraction bits, exponent bits.
struct NarrowFormat {
  int fraction;
  int exponent;
};
constexpr NarrowFormat f16Format{10, 5};
constexpr NarrowFormat bf16Format{7, 8};

/// The value of a narrow number, exactly.
double widen(uint16_t bits, NarrowFormat format);

/// `value` rounded once to the narrow format; a NaN becomes the canonical 0x7fff.
uint16_t narrow(double value, NarrowFormat format, bool towardsZero = false);

/// f32 to tf32 (the low 13 bits zero), ties away from zero, as `cvt.rna.tf32.f32`.
uint32_t roundToTf32(uint32_t bits);

/// A denormal f32 as the zero of its sign, for `.ftz`.
float flushDenormal(float value);

} // namespace attn::ptx
