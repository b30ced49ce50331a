// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime asks of one architecture or another, in a line or two each: x86-64 and AArch64.
// CPU features are told by Features.h.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace attn {

/// A counter of the CPU that ticks 2 to 6 times a nanosecond, for short waits.
inline uint64_t cpuTicks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value * 64; // these counters tick at 25 to 100 MHz
#endif
}

/// Tells the CPU that this thread waits in a loop.
inline void cpuRelax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  asm volatile("yield");
#endif
}

/// to[i][j] = from[j][i] for 4 x 4 floats; strides count floats.
inline void transpose4(const float *from, int64_t fromStride, float *to, int64_t toStride) {
#if defined(__x86_64__)
  __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + fromStride);
  __m128 c = _mm_loadu_ps(from + 2 * fromStride), d = _mm_loadu_ps(from + 3 * fromStride);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + toStride, b);
  _mm_storeu_ps(to + 2 * toStride, c);
  _mm_storeu_ps(to + 3 * toStride, d);
#else
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      to[i * toStride + j] = from[j * fromStride + i];
#endif
}

} // namespace attn
