// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clock of the kernel.
#include "base/Clock.h"
#include <ctime>

double attn::secondsNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}
