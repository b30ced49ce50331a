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
#pragma once

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

/* Ends the program with an error. */
static void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

/* The time of a clock that only moves on. */
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

/* A tensor of the command line: an input as NAME=TYPE:SIZES:FILE@OFFSET, an output, which is f32,
 * as NAME=SIZES. Sizes have commas between them; the offset counts bytes. */
enum { F32, I32, I64 };
typedef struct {
  char name[64];
  int isInput, type, rank;
  int64_t sizes[8];
  size_t count, bytes;
  void *data;
} Tensor;

/* Reads sizes up to `end`, which is stored. */
static inline void parseSizes(const char *text, Tensor *tensor, char **end) {
  tensor->count = 1;
  for (tensor->rank = 0;; text = *end + 1) {
    int64_t size = strtoll(text, end, 10);
    if (*end == text || size < 1 || tensor->rank == 8)
      fail(text, "expected sizes with commas between them");
    tensor->count *= (size_t)size;
    tensor->sizes[tensor->rank++] = size;
    if (**end != ',')
      return;
  }
}

/* Reads `bytes` bytes from `offset` of a file on; ends the program where they are not there. */
static inline void readFile(const char *path, long offset, void *data, size_t bytes) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, offset, SEEK_SET) != 0 || fread(data, 1, bytes, file) != bytes)
    fail(path, "could not be read, or is too short");
  fclose(file);
}

/* The tensor of a word, an input's values with it. */
static inline Tensor readTensor(const char *word) {
  static const char *const types[] = {"f32:", "i32:", "i64:"};
  Tensor tensor = {{0}, 0, F32, 0, {0}, 0, 0, NULL};
  const char *equals = strchr(word, '=');
  size_t length = equals ? (size_t)(equals - word) : 0;
  if (length == 0 || length >= sizeof tensor.name)
    fail(word, "expected NAME=TYPE:SIZES:FILE@OFFSET or NAME=SIZES");
  memcpy(tensor.name, word, length);
  const char *rest = equals + 1;
  for (int type = F32; type <= I64; ++type)
    if (strncmp(rest, types[type], 4) == 0) {
      tensor.isInput = 1;
      tensor.type = type;
      rest += 4;
      break;
    }
  char *end = NULL;
  parseSizes(rest, &tensor, &end);
  if (*end != (tensor.isInput ? ':' : 0))
    fail(word, "expected sizes with commas between them");
  size_t element = tensor.type == I64 ? 8 : 4;
  tensor.bytes = tensor.count * element;
  tensor.data = allocateFloats((tensor.bytes + 3) / 4);
  if (!tensor.isInput)
    return tensor;
  char path[4096];
  const char *at = strrchr(end, '@');
  size_t size = at ? (size_t)(at - end - 1) : 0;
  if (size == 0 || size >= sizeof path)
    fail(word, "expected FILE@OFFSET");
  memcpy(path, end + 1, size);
  path[size] = 0;
  readFile(path, atol(at + 1), tensor.data, tensor.bytes);
  return tensor;
}

/* Reads all words: inputs, then outputs; the number of inputs. */
enum { MOST_TENSORS = 16 };
static inline int readTensors(char **words, int count, Tensor *tensors) {
  int inputs = 0;
  if (count < 2 || count > MOST_TENSORS)
    fail("tensors", "expected inputs, then outputs, at most 16");
  for (int i = 0; i < count; ++i) {
    tensors[i] = readTensor(words[i]);
    if (tensors[i].isInput && inputs < i)
      fail(words[i], "expected inputs before outputs");
    inputs += tensors[i].isInput;
  }
  if (inputs == 0 || inputs == count)
    fail("tensors", "expected inputs and outputs");
  return inputs;
}

/* Writes the job's output to a file, and says so. */
static void writeOutput(const Job *job, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(job->output, sizeof(float), job->outputCount, file) != job->outputCount ||
      fclose(file))
    fail(path, "could not be written");
  puts("ok");
}

/* Runs a job `warm` times, then `count` times, whose times it prints. */
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
