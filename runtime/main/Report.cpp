// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The results of a bench as text and as JSON.
#include "main/Report.h"
#include "base/Json.h"
#include "run/Context.h"
#include <cstdio>

using namespace attn;

using Kernel = RunProfile::Kernel;

static int compareKernels(const void *left, const void *right) {
  double a = static_cast<const Kernel *>(left)->seconds,
         b = static_cast<const Kernel *>(right)->seconds;
  return a > b ? -1 : a < b;
}

static int compareTimes(const void *left, const void *right) {
  double a = *static_cast<const double *>(left), b = *static_cast<const double *>(right);
  return a < b ? -1 : a > b;
}

Times Times::of(Vector<double> &list) {
  qsort(list.data(), list.size(), sizeof(double), compareTimes);
  size_t count = list.size();
  return {list[0], 0.5 * (list[(count - 1) / 2] + list[count / 2]),
          list[(count * 95 + 99) / 100 - 1]};
}

/// Counts the operations of a kernel in tiles that its mask does not empty, if it has one.
static RunProfile::Counts countLive(const attn_context &context, const Command &command,
                                    int32_t kernel, attn_kernel_info &info) {
  if (strncmp(info.title, "masked ", strlen("masked ")) != 0)
    return RunProfile::Counts::NoMask;
  double share = -1;
  if (command.liveShare && !context.gpu)
    share = command.liveShare(command.liveShareContext, kernel, context.profile.dims().data(),
                              context.model->level->name);
  if (share < 0)
    return RunProfile::Counts::AsIfDense;
  info.flop *= share;
  return RunProfile::Counts::LiveTiles;
}

bool RunProfile::take(const attn_context *context, double milliseconds, const Command &command) {
  time = milliseconds;
  list.clear();
  infos.clear();
  events.clear();
  Vector<Kernel> byNumber;
  attn_kernel_info info;
  for (int32_t k = 0; attn_profile_kernel(context, k, &info) == ATTN_OK; ++k) {
    Counts counts = countLive(*context, command, k, info);
    if (!byNumber.push({info, counts, 0, 0, 0, 0}) || !infos.push({info, counts, 0, 0, 0, 0}))
      return false;
  }
  int32_t threads = attn_context_threads(context);
  for (int32_t thread = 0; thread < threads; ++thread) {
    const attn_kernel_event *own = nullptr;
    int64_t count = attn_profile_events(context, thread, &own);
    for (int64_t i = 0; i < count; ++i) {
      const attn_kernel_event &event = own[i];
      if (event.kernel < 0 || size_t(event.kernel) >= byNumber.size())
        continue;
      if (!events.push({thread, event}))
        return false;
      Kernel &kernel = byNumber[size_t(event.kernel)];
      kernel.allSeconds += 1e-9 * double(event.end - event.begin);
      kernel.waitingSeconds += 1e-9 * double(event.end - event.done);
      if (thread == 0) {
        ++kernel.calls;
        kernel.seconds += 1e-9 * double(event.end - event.begin);
      }
    }
  }
  for (const Kernel &kernel : byNumber)
    if (kernel.calls && !list.push(kernel))
      return false;
  qsort(list.data(), list.size(), sizeof(Kernel), compareKernels);
  return true;
}

RunProfile::Counts RunProfile::counts() const {
  Counts all = Counts::NoMask;
  for (const Kernel &kernel : list)
    if (kernel.counts == Counts::AsIfDense || all == Counts::NoMask)
      all = kernel.counts;
  return all;
}

const char *attn::countsText(RunProfile::Counts counts) {
  switch (counts) {
  case RunProfile::Counts::NoMask:
    return "all";
  case RunProfile::Counts::LiveTiles:
    return "live tiles";
  case RunProfile::Counts::AsIfDense:
    return "as if dense";
  }
  return "";
}

double RunProfile::flop() const {
  double sum = 0;
  for (const Kernel &kernel : list)
    sum += kernel.calls * kernel.info.flop;
  return sum;
}

double RunProfile::bytes() const {
  double sum = 0;
  for (const Kernel &kernel : list)
    sum += kernel.calls * kernel.info.bytes;
  return sum;
}

/// Whether what was reached is more than the peak that was measured: it came out of caches, or
/// multiplied narrower numbers than f32.
static bool isBeyond(double part, double whole) { return whole > 0 && part > whole; }

/// A share in percent, `~100%` beyond a peak, a dash where that is unknown.
static void printShare(double part, double whole) {
  if (isBeyond(part, whole))
    printf("%8s", "~100%");
  else if (whole > 0)
    printf("%7.1f%%", 100 * part / whole);
  else
    printf("%8s", "-");
}

static const char *wholeShare(Text &text, double part, double whole) {
  if (isBeyond(part, whole))
    text.append("~100%%");
  else
    text.append("%.0f%%", 100 * part / whole);
  return text.c_str();
}

/// Whether a share was beyond a peak.
static bool printKernels(const BenchResult &result) {
  const RunProfile &profile = *result.profile;
  printf("\n  The run of %.3f ms, kernel by kernel\n"
         "        ms   share  calls waiting  GFLOP/s of peak     GB/s of peak  kernel\n",
         profile.milliseconds());
  double sum = 0;
  bool hasBeyond = false;
  for (const Kernel &kernel : profile.kernels()) {
    double seconds = kernel.seconds, flop = kernel.calls * kernel.info.flop,
           bytes = kernel.calls * kernel.info.bytes;
    sum += seconds;
    hasBeyond |= isBeyond(flop / seconds, result.peaks.flopPerSecond) ||
                 isBeyond(bytes / seconds, result.peaks.bytesPerSecond);
    printf("%10.3f%7.1f%%%7d%7.1f%%%9.1f", 1e3 * seconds,
           100 * 1e3 * seconds / profile.milliseconds(), int(kernel.calls), 100 * kernel.waiting(),
           1e-9 * flop / seconds);
    printShare(flop / seconds, result.peaks.flopPerSecond);
    printf("%9.1f", 1e-9 * bytes / seconds);
    printShare(bytes / seconds, result.peaks.bytesPerSecond);
    printf("  %s: %s (%s)%s\n", kernel.info.function, kernel.info.title, kernel.info.location,
           kernel.counts == RunProfile::Counts::AsIfDense ? ", as if dense" : "");
  }
  double rest = profile.milliseconds() - 1e3 * sum;
  printf("%10.3f%7.1f%%%*s  before the first and after the last kernel\n", rest,
         100 * rest / profile.milliseconds(), 49, "");
  return hasBeyond;
}

void attn::printBenchText(const BenchResult &result) {
  const attn_abi_model &tables = *result.model->tables;
  const Times &times = result.times;
  if (result.gpu)
    printf("%s.%s on %s (%s), runs: %d\n", tables.name, result.entry, result.gpu->name(),
           result.gpu->loaded(), int(result.repeat));
  else
    printf("%s.%s on %s, threads: %d, runs: %d\n", tables.name, result.entry,
           result.model->level->name, int(result.threads), int(result.repeat));
  printf("  minimum %.3f ms, median %.3f ms, p95 %.3f ms, weights %lld bytes\n", times.minimum,
         times.median, times.p95, static_cast<long long>(tables.packedBytes));
  if (result.gpu)
    printf("  with copies there and back: minimum %.3f ms, median %.3f ms, p95 %.3f ms\n",
           result.endToEnd.minimum, result.endToEnd.median, result.endToEnd.p95);
  double seconds = 1e-3 * times.minimum, flop = result.profile->flop(),
         bytes = result.profile->bytes();
  printf("  %.2f GFLOP, %.1f MB of operands: %.1f GFLOP/s, %.1f GB/s\n", 1e-9 * flop, 1e-6 * bytes,
         1e-9 * flop / seconds, 1e-9 * bytes / seconds);
  if (result.profile->counts() == RunProfile::Counts::LiveTiles)
    printf("  operations under masks are those of tiles that are not empty\n");
  else if (result.profile->counts() == RunProfile::Counts::AsIfDense)
    printf("  operations under masks are counted as if dense, those of tiles that are passed by, "
           "too\n");
  const Peaks &peaks = result.peaks;
  bool hasBeyond = isBeyond(flop / seconds, peaks.flopPerSecond) ||
                   isBeyond(bytes / seconds, peaks.bytesPerSecond);
  Text ofFlop, ofBytes;
  if (peaks.bytesPerSecond > 0)
    printf("  of the machine's %.1f GFLOP/s in f32 %s, of its %.1f GB/s %s\n",
           1e-9 * peaks.flopPerSecond, wholeShare(ofFlop, flop / seconds, peaks.flopPerSecond),
           1e-9 * peaks.bytesPerSecond, wholeShare(ofBytes, bytes / seconds, peaks.bytesPerSecond));
  if (result.hasKernels)
    hasBeyond |= printKernels(result);
  if (hasBeyond)
    printf(
        "  ~ more than the peak: bytes came out of caches, or operations are on less than f32\n");
}

void attn::printBenchJson(const BenchResult &result) {
  const attn_abi_model &tables = *result.model->tables;
  Text text;
  text.append("{\"model\": \"%s\", \"entry\": \"%s\", \"level\": \"%s\", \"threads\": %d, "
              "\"repeat\": %d, \"minimum_ms\": %.6f, \"median_ms\": %.6f, \"p95_ms\": %.6f, "
              "\"weight_bytes\": %lld, \"flop\": %.0f, \"flop_counts\": \"%s\", \"bytes\": %.0f, "
              "\"peak_flop_per_s\": %.0f, \"peak_bytes_per_s\": %.0f",
              tables.name, result.entry,
              result.gpu ? result.gpu->chip() : result.model->level->name, int(result.threads),
              int(result.repeat), result.times.minimum, result.times.median, result.times.p95,
              static_cast<long long>(tables.packedBytes), result.profile->flop(),
              countsText(result.profile->counts()), result.profile->bytes(),
              result.peaks.flopPerSecond, result.peaks.bytesPerSecond);
  text.append(", \"sizes\": {");
  bool isFirstSize = true;
  for (int32_t d = 0; d < tables.dimCount; ++d) {
    if (!tables.dims[d].isDynamic || size_t(d) >= result.dims->size())
      continue;
    text.append("%s\"%s\": %lld", isFirstSize ? "" : ", ", tables.dims[d].name,
                static_cast<long long>((*result.dims)[size_t(d)]));
    isFirstSize = false;
  }
  text.append("}");
  if (result.gpu) {
    text.append(", \"code\": \"%s\", \"device\": ", result.gpu->loaded());
    appendJsonString(text, result.gpu->name());
    text.append(", \"end_to_end_minimum_ms\": %.6f, \"end_to_end_median_ms\": %.6f, "
                "\"end_to_end_p95_ms\": %.6f",
                result.endToEnd.minimum, result.endToEnd.median, result.endToEnd.p95);
  }
  if (result.hasKernels) {
    text.append(", \"profiled_ms\": %.6f, \"kernels\": [", result.profile->milliseconds());
    bool isFirst = true;
    for (const Kernel &kernel : result.profile->kernels()) {
      text.append("%s{\"function\": ", isFirst ? "" : ", ");
      isFirst = false;
      appendJsonString(text, kernel.info.function);
      text.append(", \"kernel\": ");
      appendJsonString(text, kernel.info.title);
      text.append(", \"at\": ");
      appendJsonString(text, kernel.info.location);
      text.append(", \"calls\": %d, \"ms\": %.6f, \"waiting\": %.6f, \"flop\": %.0f, "
                  "\"flop_counts\": \"%s\", \"bytes\": %.0f}",
                  int(kernel.calls), 1e3 * kernel.seconds, kernel.waiting(),
                  kernel.calls * kernel.info.flop, countsText(kernel.counts),
                  kernel.calls * kernel.info.bytes);
    }
    text.append("]");
  }
  printf("%s}\n", text.c_str());
}
