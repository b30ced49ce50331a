/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How fast memory can be read: the least milliseconds of some readings of so many megabytes, on
 * some threads at once.
 *
 *   run_read THREADS MEGABYTES READINGS
 */
#define _POSIX_C_SOURCE 200809L
#include "../../runtime/main/PeakKernels.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 1024 };

static struct {
  PeakKernels kernels;
  const float *data;
  size_t blocks; /* as the kernel takes them */
  int threads, readings;
  pthread_barrier_t together;
  double best;
  volatile float output;
} shared;

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static void *work(void *number) {
  size_t thread = (size_t)number, threads = (size_t)shared.threads;
  size_t from = shared.blocks * thread / threads, to = shared.blocks * (thread + 1) / threads;
  const float *data = shared.data + from * READ_CHAINS * (size_t)shared.kernels.lanes;
  for (int reading = 0; reading < shared.readings; ++reading) {
    pthread_barrier_wait(&shared.together);
    double begin = milliseconds();
    shared.output = shared.kernels.sum(data, to - from);
    pthread_barrier_wait(&shared.together);
    double time = milliseconds() - begin;
    if (thread == 0 && time < shared.best)
      shared.best = time;
  }
  return NULL;
}

int main(int argc, char **argv) {
  shared.threads = argc > 1 ? atoi(argv[1]) : 1;
  size_t bytes = (argc > 2 ? (size_t)atoi(argv[2]) : 512) << 20;
  shared.readings = argc > 3 ? atoi(argv[3]) : 10;
  float *data = aligned_alloc(1 << 21, bytes);
  if (shared.threads < 1 || shared.threads > MOST_THREADS || !data)
    return 2;
  memset(data, 1, bytes);
#if defined(__x86_64__)
  shared.kernels = peakKernels(__builtin_cpu_supports("avx512f"));
#else
  shared.kernels = peakKernels(0);
#endif
  shared.data = data;
  shared.blocks = bytes / sizeof(float) / READ_CHAINS / (size_t)shared.kernels.lanes;
  shared.best = 1e30;
  pthread_barrier_init(&shared.together, NULL, (unsigned)shared.threads);
  pthread_t others[MOST_THREADS];
  for (int thread = 1; thread < shared.threads; ++thread)
    if (pthread_create(&others[thread], NULL, work, (void *)(size_t)thread))
      return 4;
  work(NULL);
  for (int thread = 1; thread < shared.threads; ++thread)
    pthread_join(others[thread], NULL);
  printf("%.6f\n", shared.best);
  free(data);
  return 0;
}
