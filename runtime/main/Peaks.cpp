// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of PeakKernels.h on all threads, timed.
#include "main/Peaks.h"
#include "attn/abi.h"
#include "base/Features.h"
#include "base/PageBlock.h"
#include "base/Team.h"
#include "main/PeakKernels.h"
#include <atomic>
#include <ctime>

using namespace attn;

static constexpr int repeats = 6;
static constexpr long steps = 1000000;
/// More than the caches hold.
static constexpr uint64_t readBytes = uint64_t(256) << 20;

namespace {
struct Work {
  PeakKernels kernels;
  const float *data; // null: multiply-adds
  int64_t blocks, threads;
  std::atomic<float> output; ///< Of any thread: what is computed is used.
};
} // namespace

static void runShare(void *argument, int64_t thread) {
  Work &work = *static_cast<Work *>(argument);
  if (!work.data) {
    work.output.store(work.kernels.multiplyAdd(0.5f, steps), std::memory_order_relaxed);
    return;
  }
  int64_t begin = work.blocks * thread / work.threads,
          end = work.blocks * (thread + 1) / work.threads;
  const float *own = work.data + begin * READ_CHAINS * work.kernels.lanes;
  work.output.store(work.kernels.sum(own, size_t(end - begin)), std::memory_order_relaxed);
}

/// The least seconds of a few runs.
static double leastSeconds(Team &team, Work &work) {
  double least = 1e30;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    team.run(runShare, &work);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double time = double(end.tv_sec - begin.tv_sec) + 1e-9 * double(end.tv_nsec - begin.tv_nsec);
    least = time < least ? time : least;
  }
  return least;
}

Peaks attn::measurePeaks(int32_t threads) {
  Peaks peaks;
  Team team;
  PageBlock block;
  Work work{peakKernels(hasLevel(ATTN_LEVEL_X86_64_V4)), nullptr, 0, threads, 0};
  if (!team.start(threads))
    return peaks;
  peaks.flopPerSecond =
      2.0 * PEAK_CHAINS * work.kernels.lanes * double(steps * threads) / leastSeconds(team, work);
  if (!block.allocate(readBytes))
    return peaks;
  memset(block.data(), 1, readBytes);
  work.data = reinterpret_cast<const float *>(block.data());
  work.blocks = int64_t(readBytes / (READ_CHAINS * size_t(work.kernels.lanes) * sizeof(float)));
  peaks.bytesPerSecond = double(readBytes) / leastSeconds(team, work);
  return peaks;
}
