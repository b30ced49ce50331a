/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How fast memory can be read: the least milliseconds of some readings of so many megabytes, on
 * some threads at once.
 *
 *   run_read THREADS MEGABYTES READINGS
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 1024, CHAINS = 8, LANES = 16 };
typedef float Vector __attribute__((vector_size(4 * LANES)));

static struct {
  const Vector *data;
  size_t steps; /* of CHAINS vectors */
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

static float sumOf(size_t from, size_t to) {
  Vector sums[CHAINS] = {{0}};
  for (size_t step = from; step < to; ++step)
    for (int chain = 0; chain < CHAINS; ++chain)
      sums[chain] += shared.data[step * CHAINS + (size_t)chain];
  float sum = 0;
  for (int chain = 0; chain < CHAINS; ++chain)
    sum += sums[chain][0];
  return sum;
}

static void *work(void *number) {
  size_t thread = (size_t)number, threads = (size_t)shared.threads;
  size_t from = shared.steps * thread / threads, to = shared.steps * (thread + 1) / threads;
  for (int reading = 0; reading < shared.readings; ++reading) {
    pthread_barrier_wait(&shared.together);
    double begin = milliseconds();
    shared.output = sumOf(from, to);
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
  shared.data = (const Vector *)data;
  shared.steps = bytes / sizeof(Vector) / CHAINS;
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
