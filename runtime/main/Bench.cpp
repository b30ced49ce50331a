// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/Cache.h"
#include "main/Command.h"
#include <cstdio>
#include <ctime>

using namespace attn;

static double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

static int compareTimes(const void *left, const void *right) {
  double a = *static_cast<const double *>(left), b = *static_cast<const double *>(right);
  return a < b ? -1 : a > b;
}

/// As many runs as take about three seconds, at least 5 and at most 1000.
static int32_t chooseRepeat(double once) {
  double wanted = 3 / (once > 1e-6 ? once : 1e-6);
  return wanted < 5 ? 5 : wanted > 1000 ? 1000 : int32_t(wanted);
}

namespace {
/// Runs an entry; each time its cache, where it takes one, holds as many positions before.
struct Runs {
  attn_context *context;
  int32_t entry, cache;
  const Tensors &inputs, &outputs;
  char **message;
  int64_t cached = 0;

  attn_status run() {
    return attn_run(context, entry, inputs.list.data(), outputs.list.data(), message);
  }
  attn_status repeat() {
    attn_status status = run();
    if (status == ATTN_OK && cache >= 0)
      status = attn_cache_truncate(context, cache, cached, message);
    return status;
  }
  /// Lets every run begin with so many positions in the cache.
  attn_status fill(int64_t wanted);
};
} // namespace

attn_status Runs::fill(int64_t wanted) {
  if (wanted == 0)
    return ATTN_OK;
  if (cache < 0) {
    Error error;
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--cached %lld`: the entry takes no cache",
              static_cast<long long>(wanted));
    return error.report(message);
  }
  attn_status status = run(); // takes the memory
  if (status == ATTN_OK)
    pretendCached(*context, cache, cached = wanted);
  return status;
}

attn_status attn::benchEntry(const Command &command, const attn_model &model, attn_context *context,
                             int32_t entry, const Tensors &inputs, const Tensors &outputs,
                             char **message) {
  Runs runs{context, entry, model.tables->entries[entry].cache, inputs, outputs, message};
  if (attn_status status = runs.fill(command.cached))
    return status;
  double once = 0;
  for (int warmUp = 0; warmUp < 2; ++warmUp) { // the first run allocates and faults pages in
    double begin = seconds();
    if (attn_status status = runs.repeat())
      return status;
    once = seconds() - begin;
  }
  int32_t repeat = command.repeat ? command.repeat : chooseRepeat(once);
  Vector<double> times;
  if (!times.resize(size_t(repeat))) {
    Error error;
    error.outOfMemory("the times");
    return error.report(message);
  }
  for (double &time : times) {
    double begin = seconds();
    if (attn_status status = runs.repeat())
      return status;
    time = 1e3 * (seconds() - begin);
  }
  qsort(times.data(), times.size(), sizeof(double), compareTimes);
  size_t count = times.size();
  double minimum = times[0], median = 0.5 * (times[(count - 1) / 2] + times[count / 2]);
  double p95 = times[(count * 95 + 99) / 100 - 1];
  const char *name = model.tables->entries[entry].name;
  const char *format =
      command.isJson
          ? "{\"model\": \"%s\", \"entry\": \"%s\", \"level\": \"%s\", \"threads\": %d, "
            "\"repeat\": %d, \"minimum_ms\": %.6f, \"median_ms\": %.6f, \"p95_ms\": %.6f, "
            "\"weight_bytes\": %lld}\n"
          : "%s.%s on %s, threads: %d, runs: %d\n"
            "  minimum %.3f ms, median %.3f ms, p95 %.3f ms, weights %lld bytes\n";
  printf(format, model.tables->name, name, model.level->name, int(attn_context_threads(context)),
         int(repeat), minimum, median, p95, static_cast<long long>(model.tables->packedBytes));
  return ATTN_OK;
}
