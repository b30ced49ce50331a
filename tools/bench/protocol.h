/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the programs that compare.py commands have in common. Commands on stdin, answers on stdout,
 * one line each:
 *
 *   (at the start)    ready KEY=VALUE ...
 *   run WARM COUNT    ms T T T ...    WARM runs that do not count, then COUNT timed ones
 *   output PATH       ok              the last run's output as raw f32
 *   quit              (the program ends)
 *
 * Whatever fails: a sentence on stderr and exit code 1.
 */
#ifndef ATTN_BENCH_PROTOCOL_H
#define ATTN_BENCH_PROTOCOL_H
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* What is run and what it leaves. */
typedef struct {
  void (*run)(void *state); /* ends the program where it fails */
  void *state;
  const float *output; /* of `outputCount` elements */
  size_t outputCount;
} Job;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* Memory for `count` floats on a cache line of its own, zero. */
static inline float *allocateFloats(size_t count) {
  void *memory = NULL;
  if (posix_memalign(&memory, 64, (count ? count : 1) * sizeof(float)))
    fail("memory", "not enough");
  memset(memory, 0, count * sizeof(float));
  return (float *)memory;
}

/* Sizes written as "1,3,224,224"; returns how many, at most 8, and their product in *count. */
static inline int readSizes(const char *text, int64_t *sizes, size_t *count) {
  int rank = 0;
  char *end = NULL;
  *count = 1;
  for (;; text = end + 1) {
    sizes[rank] = strtoll(text, &end, 10);
    if (end == text || sizes[rank] < 1)
      fail(text, "expected sizes with commas between them");
    *count *= (size_t)sizes[rank++];
    if (*end != ',' || rank == 8)
      return rank;
  }
}

/* Reads `count` raw f32 values. */
static inline void readFloats(const char *path, size_t part, float *values, size_t count) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, (long)(part * count * sizeof(float)), SEEK_SET) ||
      fread(values, sizeof(float), count, file) != count)
    fail(path, "could not be read, or is too short");
  fclose(file);
}

static void writeOutput(const Job *job, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(job->output, sizeof(float), job->outputCount, file) != job->outputCount ||
      fclose(file))
    fail(path, "could not be written");
  puts("ok");
}

static void runJob(const Job *job, int warm, int count) {
  double *times = (double *)malloc(sizeof(double) * (size_t)(count > 0 ? count : 1));
  if (!times)
    fail("memory", "not enough");
  for (int n = 0; n < warm; ++n)
    job->run(job->state);
  for (int n = 0; n < count; ++n) {
    double begin = milliseconds();
    job->run(job->state);
    times[n] = milliseconds() - begin;
  }
  printf("ms");
  for (int n = 0; n < count; ++n)
    printf(" %.6f", times[n]);
  puts("");
  free(times);
}

/* Answers commands until `quit` or the end of stdin. */
static int serve(const Job *job) {
  char line[4096];
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* else it would stay, stopped, where compare.py is killed */
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    int warm = 0, count = 0;
    line[strcspn(line, "\n")] = 0;
    if (strcmp(line, "quit") == 0)
      break;
    if (strncmp(line, "output ", 7) == 0)
      writeOutput(job, line + 7);
    else if (sscanf(line, "run %d %d", &warm, &count) == 2)
      runJob(job, warm, count);
    else
      fail(line, "not a command");
    fflush(stdout);
  }
  return 0;
}

#endif
