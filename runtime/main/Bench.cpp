// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

attn_status attn::benchEntry(const Command &command, const attn_model &model, attn_context *context,
                             int32_t entry, const Tensors &inputs, const Tensors &outputs,
                             char **message) {
  double once = 0;
  for (int warmUp = 0; warmUp < 2; ++warmUp) { // the first run allocates and faults pages in
    double begin = seconds();
    if (attn_status status =
            attn_run(context, entry, inputs.list.data(), outputs.list.data(), message))
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
    if (attn_status status =
            attn_run(context, entry, inputs.list.data(), outputs.list.data(), message))
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
