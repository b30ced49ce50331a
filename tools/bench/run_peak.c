/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How many floating-point operations a second the CPU does at most: fused multiply-adds on
 * registers alone, on some threads at once, as protocol.h says:
 *
 *   run_peak THREADS [tiles]
 *
 * or, with `tiles`, products of AMX tile registers in bf16. `ready flop=N` says how many operations
 * one run takes. The output is a number that keeps the compiler from leaving the work out.
 */
#define _GNU_SOURCE
#include "../../runtime/main/PeakKernels.h"
#include "protocol.h"
#include <pthread.h>
#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { STEPS = 4000000, TILE_STEPS = 100000, TILE_CHAINS = 6, MOST_THREADS = 1024 };

#if defined(__x86_64__)
/* On zeros: sums in registers 0 to 5, of 16 x 16 and pairs of bf16. */
__attribute__((target("amx-tile,amx-bf16"))) static float multiplyTiles(float seed, long steps) {
  struct {
    unsigned char palette, start, reserved[14];
    unsigned short columnBytes[16];
    unsigned char rows[16];
  } shape = {.palette = 1};
  for (int tile = 0; tile < 8; ++tile)
    shape.columnBytes[tile] = 64, shape.rows[tile] = 16;
  __asm__ volatile("" ::"r"(&shape) : "memory"); /* all of it is read */
  _tile_loadconfig(&shape);
  for (long step = 0; step < steps; ++step) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  _tile_release();
  return seed;
}

/* Whether the system lets this process use them (arch_prctl, ARCH_REQ_XCOMP_PERM). */
static int hasTiles(void) {
  return __builtin_cpu_supports("amx-bf16") && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}
#endif

typedef struct {
  float (*kernel)(float seed, long steps);
  long steps;
  int threads;
  float output;
} Peak;

static void *work(void *state) {
  Peak *peak = (Peak *)state;
  float result = peak->kernel(0.5f, peak->steps);
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
  int wantsTiles = argc == 3 && strcmp(argv[2], "tiles") == 0;
  peak.threads = argc == 2 || wantsTiles ? atoi(argv[1]) : 0;
  if (peak.threads < 1 || peak.threads > MOST_THREADS)
    fail("run_peak", "expected THREADS [tiles]");
  double flop = 0; /* of a step */
  if (wantsTiles) {
#if defined(__x86_64__)
    if (hasTiles()) {
      peak.kernel = multiplyTiles, peak.steps = TILE_STEPS;
      flop = 2.0 * TILE_CHAINS * 16 * 16 * 32;
    }
#endif
    if (!peak.kernel)
      fail("run_peak", "this CPU has no tile registers");
  } else {
#if defined(__x86_64__)
    const char *bits = getenv("RUN_PEAK_BITS"); /* of the widest vectors; default: what there is */
    int hasAvx512 = __builtin_cpu_supports("avx512f") && !(bits && atoi(bits) < 512);
    if (!hasAvx512 && !__builtin_cpu_supports("fma"))
      fail("run_peak", "this CPU has no fused multiply-add");
#else
    int hasAvx512 = 0;
#endif
    PeakKernels kernels = peakKernels(hasAvx512);
    peak.kernel = kernels.multiplyAdd, peak.steps = STEPS;
    flop = 2.0 * PEAK_CHAINS * kernels.lanes;
  }
  printf("ready flop=%.0f\n", flop * (double)peak.steps * peak.threads);
  Job job = {runPeak, &peak, &peak.output, 1};
  return serve(&job);
}
