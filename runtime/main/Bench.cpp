// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bench: an entry run again and again, with the machine's peaks measured around it.
#include "main/Command.h"
#include "main/ProgressLine.h"
#include "main/Report.h"
#include "run/Cache.h"
#include "run/Context.h"
#include <cstdio>

using namespace attn;

/// As many runs as take about three seconds, at least 5 and at most 1000.
static int32_t chooseRepeat(double once) {
  double wanted = 3 / (once > 1e-6 ? once : 1e-6);
  return wanted < 5 ? 5 : wanted > 1000 ? 1000 : int32_t(wanted);
}

/// Peaks right before and right after the runs: what others do on the machine changes them.
static Peaks largerOf(const Peaks &a, const Peaks &b) {
  return {a.flopPerSecond > b.flopPerSecond ? a.flopPerSecond : b.flopPerSecond,
          a.bytesPerSecond > b.bytesPerSecond ? a.bytesPerSecond : b.bytesPerSecond};
}

/// Profiled runs of a GPU, of which the fastest is shown.
static constexpr int32_t gpuProfiles = 5;

namespace {
/// Runs an entry; each time its caches, where it takes some, hold as many positions before.
struct Runs {
  attn_context *context;
  int32_t number;
  const attn_abi_entry &entry;
  const Tensors &inputs, &outputs;
  char **message;
  int64_t cached = 0;

  attn_status run() {
    return attn_run(context, number, inputs.list.data(), outputs.list.data(), message);
  }
  /// After a run: the caches that it added to hold what they held before.
  attn_status rewind() {
    attn_status status = ATTN_OK;
    for (int32_t c = 0; !status && c < entry.cacheCount; ++c)
      if (entry.caches[c].use == ATTN_CACHE_PUSH)
        status = attn_cache_truncate(context, entry.caches[c].cache, cached, message);
    return status;
  }
  /// Lets every run begin with so many positions in the caches that it adds to, and with full ones
  /// that it reads.
  attn_status fill(int64_t wanted);

private:
  /// Whether the entry does this with a cache.
  bool does(int32_t use) const {
    bool isFound = false;
    for (int32_t c = 0; c < entry.cacheCount; ++c)
      isFound |= entry.caches[c].use == use;
    return isFound;
  }
};
} // namespace

attn_status Runs::fill(int64_t wanted) {
  Error error;
  bool isNeeded = wanted || does(ATTN_CACHE_READ);
  if (wanted && !does(ATTN_CACHE_PUSH))
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--cached %lld`: the entry takes no cache",
              static_cast<long long>(wanted));
  else if (isNeeded)
    pretendFilled(*context, number, inputs.list.data(), error);
  if (error.status || !isNeeded)
    return error.report(message);
  attn_status status = run(); // takes the memory
  for (int32_t c = 0; !status && c < entry.cacheCount; ++c) {
    int32_t cache = entry.caches[c].cache;
    if (entry.caches[c].use == ATTN_CACHE_PUSH)
      pretendCached(*context, cache, cached = wanted);
    else if (entry.caches[c].use == ATTN_CACHE_READ)
      pretendCached(*context, cache, attn_cache_length(context, cache));
  }
  return status;
}

/// Writes a profiled run with what is known of it.
static attn_status writeTrace(const char *path, attn_context &context, const attn_abi_entry &entry,
                              const Tensors &inputs, const RunProfile &profile, Error &error) {
  const attn_model &model = *context.model;
  const Gpu *gpu = gpuOf(context);
  TraceOf of{model.tables->name, entry.name, gpu ? gpu->chip() : model.level->name,
             gpu != nullptr,     0,          {}};
  auto number = int32_t(&entry - model.tables->entries);
  if (!gpu &&
      attn_workspace_bytes(&context, number, inputs.list.data(), &of.workspaceBytes, nullptr))
    of.workspaceBytes = 0;
  const Vector<int64_t> &dims = context.profile.dims();
  for (int32_t d = 0; d < model.tables->dimCount; ++d)
    if (model.tables->dims[d].isDynamic && size_t(d) < dims.size() &&
        !of.sizes.push({model.tables->dims[d].name, dims[size_t(d)]}))
      return error.outOfMemory(path);
  return profile.writeTrace(path, of, error);
}

attn_status attn::benchEntry(const Command &command, const attn_model &model, attn_context *context,
                             int32_t entry, const Tensors &inputs, const Tensors &outputs,
                             char **message) {
  Runs runs{context, entry, model.tables->entries[entry], inputs, outputs, message};
  if (attn_status status = runs.fill(command.cached))
    return status;
  double once = 0;
  Gpu *gpu = gpuOf(*context);
  int32_t threads = attn_context_threads(context);
  Peaks before = gpu ? Peaks() : measurePeaks(threads);
  if (gpu)
    gpu->enableTiming();
  // The first run allocates and faults pages in; a GPU's second one makes a graph.
  for (int warmUp = gpu ? 0 : 1; warmUp < 3; ++warmUp) {
    double begin = secondsNow();
    if (attn_status status = runs.run())
      return status;
    once = secondsNow() - begin;
    if (attn_status status = runs.rewind())
      return status;
  }
  Error error;
  int32_t repeat = command.repeat ? command.repeat : chooseRepeat(once);
  Vector<double> times, endToEnd;
  if (!times.resize(size_t(repeat)) || !endToEnd.resize(size_t(repeat)))
    return error.outOfMemory("the times"), error.report(message);
  // The fastest profiled run is shown; what the kernels compute is recorded in any case. Events
  // between a GPU's kernels slow it down, so its profiled runs come before those that are timed.
  bool hasKernels = command.isProfile || command.trace;
  int32_t ahead = !hasKernels ? 1 : gpu ? gpuProfiles : 0;
  RunProfile profile;
  for (int32_t i = -ahead; i < repeat; ++i) {
    bool isProfiled = i < 0 || (hasKernels && !gpu);
    if (attn_status status = attn_profile_enable(context, isProfiled, message))
      return status;
    double begin = secondsNow();
    if (attn_status status = runs.run())
      return status;
    double passed = 1e3 * (secondsNow() - begin), time = gpu ? gpu->milliseconds() : passed;
    if (attn_status status = runs.rewind())
      return status;
    if (i >= 0)
      times[size_t(i)] = time, endToEnd[size_t(i)] = passed;
    bool isFirst = i == -ahead;
    if (isProfiled && (isFirst || time < profile.milliseconds()) &&
        !profile.take(context, time, command))
      return error.outOfMemory("the profile"), error.report(message);
  }
  if (command.trace && writeTrace(command.trace, *context, runs.entry, inputs, profile, error))
    return error.report(message);
  BenchResult result{&model,
                     gpu,
                     model.tables->entries[entry].name,
                     threads,
                     repeat,
                     Times::of(times),
                     Times::of(endToEnd),
                     gpu ? Peaks() : largerOf(before, measurePeaks(threads)),
                     &profile,
                     &context->profile.dims(),
                     command.isProfile};
  (command.isJson ? printBenchJson : printBenchText)(result);
  return ATTN_OK;
}
