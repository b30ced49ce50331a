// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts of packed elements to a line on stderr.
#include "main/PackProgress.h"
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>

using namespace attn;

namespace {
/// The line of this command. Thread 0 of the team, which is the caller, writes it.
struct Line {
  std::atomic<int64_t> done{0};
  double all = 0, megabytes = 0; ///< 0: nothing is shown
  double next = 0;               ///< second from which on it may be written
  bool isShown = false;
};
Line line;
} // namespace

static double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

PackProgress::PackProgress(const attn_abi_model &tables) {
  const char *terminal = getenv("TERM");
  if (!isatty(2) || !terminal || strcmp(terminal, "dumb") == 0)
    return;
  for (int32_t s = 0; s < tables.slotCount; ++s)
    for (int32_t p = 0; p < tables.slots[s].partCount; ++p)
      line.all += double(tables.slots[s].parts[p].count) * double(tables.slots[s].k) *
                  double(tables.slots[s].layers);
  line.megabytes = double(tables.packedBytes) / 1e6;
  line.done = 0;
  line.next = seconds() + 0.5;
}

PackProgress::~PackProgress() {
  if (line.isShown)
    fputs("\r\033[K", stderr);
  line.isShown = false;
  line.all = 0;
}

extern "C" void attn_main_note_packed(int64_t elements, int64_t thread) {
  int64_t done = line.done.fetch_add(elements, std::memory_order_relaxed) + elements;
  if (thread != 0 || line.all <= 0 || seconds() < line.next)
    return;
  line.next = seconds() + 0.1;
  fflush(stdout);
  fprintf(stderr, "\r\033[Kpacking weights, %.0f of %.0f MB",
          double(done) / line.all * line.megabytes, line.megabytes);
  line.isShown = true;
}
