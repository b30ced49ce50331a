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
#include "../../runtime/main/PeakKernels.h"
#include "protocol.h"
#include <pthread.h>

enum { STEPS = 4000000, MOST_THREADS = 1024 };

typedef struct {
  PeakKernels kernels;
  int threads;
  float output;
} Peak;

static void *work(void *state) {
  Peak *peak = (Peak *)state;
  float result = peak->kernels.multiplyAdd(0.5f, STEPS);
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
  peak.threads = argc == 2 ? atoi(argv[1]) : 0;
  if (peak.threads < 1 || peak.threads > MOST_THREADS)
    fail("run_peak", "expected THREADS");
#if defined(__x86_64__)
  int hasAvx512 = __builtin_cpu_supports("avx512f");
  if (!hasAvx512 && !__builtin_cpu_supports("fma"))
    fail("run_peak", "this CPU has no fused multiply-add");
#else
  int hasAvx512 = 0;
#endif
  peak.kernels = peakKernels(hasAvx512);
  int lanes = peak.kernels.lanes;
  printf("ready flop=%.0f lanes=%d\n", 2.0 * PEAK_CHAINS * STEPS * lanes * peak.threads, lanes);
  Job job = {runPeak, &peak, &peak.output, 1};
  return serve(&job);
}
