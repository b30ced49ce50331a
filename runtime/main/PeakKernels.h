/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops that do one thing as fast as the CPU can: fused multiply-adds on registers, sums of memory.
 * C and C++; for a program of its own in tools/bench, too.
 */
#pragma once

#include <stddef.h>

/* 14 chains of dependent operations hide a latency of up to 7 cycles on two ports; with the factor
 * they fit into the 16 registers of AVX2. */
enum { PEAK_CHAINS = 14, READ_CHAINS = 8 };

#define EACH_CHAIN(DO)                                                                             \
  DO(a) DO(b) DO(c) DO(d) DO(e) DO(f) DO(g) DO(h) DO(i) DO(j) DO(k) DO(l) DO(m) DO(n)
#define STEP(CHAIN) CHAIN = CHAIN * factor + factor;
#define SUM(CHAIN) +CHAIN

/* One variable per chain: an array would go through memory. The chains begin with different values,
 * else the compiler would make one of them all. */
#define DECLARE(CHAIN) Vector CHAIN = factor * (start += 1);

/* multiplyAddN: 2 * PEAK_CHAINS * N operations a step. sumN: of blocks of READ_CHAINS * N floats.
 * Their results keep the compiler from leaving the work out. */
#define DEFINE_KERNELS(TARGET, LANES)                                                              \
  TARGET static float multiplyAdd##LANES(float seed, long steps) {                                 \
    typedef float Vector __attribute__((vector_size(4 * LANES)));                                  \
    Vector factor = {0};                                                                           \
    float start = 0;                                                                               \
    factor += seed;                                                                                \
    EACH_CHAIN(DECLARE)                                                                            \
    for (long step = 0; step < steps; ++step) {                                                    \
      EACH_CHAIN(STEP)                                                                             \
    }                                                                                              \
    Vector sum = EACH_CHAIN(SUM);                                                                  \
    return sum[0];                                                                                 \
  }                                                                                                \
  TARGET static float sum##LANES(const float *data, size_t blocks) {                               \
    typedef float Vector __attribute__((vector_size(4 * LANES)));                                  \
    const Vector *vectors = (const Vector *)data;                                                  \
    Vector sums[READ_CHAINS] = {{0}};                                                              \
    for (size_t block = 0; block < blocks; ++block)                                                \
      for (int chain = 0; chain < READ_CHAINS; ++chain)                                            \
        sums[chain] += vectors[block * READ_CHAINS + (size_t)chain];                               \
    float sum = 0;                                                                                 \
    for (int chain = 0; chain < READ_CHAINS; ++chain)                                              \
      sum += sums[chain][0];                                                                       \
    return sum;                                                                                    \
  }

#if defined(__x86_64__)
DEFINE_KERNELS(__attribute__((target("avx512f"))), 16)
DEFINE_KERNELS(__attribute__((target("avx2,fma"))), 8)
#else
DEFINE_KERNELS(, 4)
#endif

/* The loops for one width of vectors. */
struct PeakKernels {
  int lanes;
  float (*multiplyAdd)(float seed, long steps);
  float (*sum)(const float *data, size_t blocks); /* `data` at a multiple of 64 bytes */
};
#ifndef __cplusplus
/* In C, too, the type has its name alone. */
typedef struct PeakKernels PeakKernels;
#endif

/* Those of a CPU with or without AVX-512; no x86 CPU without AVX2. */
static inline PeakKernels peakKernels(int hasAvx512) {
#if defined(__x86_64__)
  PeakKernels wide = {16, multiplyAdd16, sum16}, narrow = {8, multiplyAdd8, sum8};
  return hasAvx512 ? wide : narrow;
#else
  PeakKernels kernels = {4, multiplyAdd4, sum4};
  (void)hasAvx512;
  return kernels;
#endif
}
