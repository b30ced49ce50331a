/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How many floating-point operations a second the CPU does at most: fused multiply-adds on
 * registers alone, on some threads at once, as protocol.h says:
 *
 *   run_peak THREADS
 *
 * `ready flop=N` says how many operations one run takes. The output is a number that keeps the
 * compiler from leaving the work out.
 */
#define _POSIX_C_SOURCE 200809L
#include "protocol.h"
#include <pthread.h>

/* 14 chains of dependent operations hide a latency of up to 7 cycles on two ports; with the factor
 * they fit into the 16 registers of AVX2. */
enum { CHAINS = 14, STEPS = 4000000, MOST_THREADS = 1024 };

#define EACH_CHAIN(DO)                                                                             \
  DO(a) DO(b) DO(c) DO(d) DO(e) DO(f) DO(g) DO(h) DO(i) DO(j) DO(k) DO(l) DO(m) DO(n)
#define STEP(CHAIN) CHAIN = CHAIN * factor + factor;
#define SUM(CHAIN) +CHAIN

/* One variable per chain: an array would go through memory. The chains begin with different values,
 * else the compiler would make one of them all. */
#define DECLARE(CHAIN) Vector CHAIN = factor * (start += 1);

#define DEFINE_KERNEL(NAME, TARGET, LANES)                                                         \
  TARGET static float NAME(float seed) {                                                           \
    typedef float Vector __attribute__((vector_size(4 * LANES)));                                  \
    Vector factor = {0};                                                                           \
    float start = 0;                                                                               \
    factor += seed;                                                                                \
    EACH_CHAIN(DECLARE)                                                                            \
    for (int step = 0; step < STEPS; ++step) {                                                     \
      EACH_CHAIN(STEP)                                                                             \
    }                                                                                              \
    Vector sum = EACH_CHAIN(SUM);                                                                  \
    return sum[0];                                                                                 \
  }

#if defined(__x86_64__)
DEFINE_KERNEL(multiplyAdd16, __attribute__((target("avx512f"))), 16)
DEFINE_KERNEL(multiplyAdd8, __attribute__((target("avx2,fma"))), 8)
#else
DEFINE_KERNEL(multiplyAdd4, , 4)
#endif

typedef struct {
  float (*kernel)(float seed);
  int threads;
  float output;
} Peak;

static void *work(void *state) {
  Peak *peak = (Peak *)state;
  float result = peak->kernel(0.5f);
  __atomic_store(&peak->output, &result, __ATOMIC_RELAXED);
  return NULL;
}

static void runPeak(void *state) {
  Peak *peak = (Peak *)state;
  pthread_t others[MOST_THREADS];
  for (int n = 1; n < peak->threads; ++n)
    if (pthread_create(&others[n], NULL, work, peak))
      fail("thread", "could not be created");
  work(peak);
  for (int n = 1; n < peak->threads; ++n)
    pthread_join(others[n], NULL);
}

int main(int argc, char **argv) {
  Peak peak = {0};
  int lanes = 4;
  peak.threads = argc == 2 ? atoi(argv[1]) : 0;
  if (peak.threads < 1 || peak.threads > MOST_THREADS)
    fail("run_peak", "expected THREADS");
#if defined(__x86_64__)
  lanes = __builtin_cpu_supports("avx512f") ? 16 : 8;
  if (lanes == 8 && !__builtin_cpu_supports("fma"))
    fail("run_peak", "this CPU has no fused multiply-add");
  peak.kernel = lanes == 16 ? multiplyAdd16 : multiplyAdd8;
#else
  peak.kernel = multiplyAdd4;
#endif
  printf("ready flop=%.0f lanes=%d\n", 2.0 * CHAINS * STEPS * lanes * peak.threads, lanes);
  Job job = {runPeak, &peak, &peak.output, 1};
  return serve(&job);
}
