// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spinning on the counter, then sleeping by Linux' futex.
#include "base/WaitWord.h"
#include "base/Architecture.h"
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace attn;

bool WaitWord::spinWhile(uint32_t old, uint64_t spinTicks) const {
  uint64_t begin = cpuTicks();
  do {
    if (load() != old)
      return true;
    cpuRelax();
  } while (cpuTicks() - begin < spinTicks);
  return false;
}

void WaitWord::sleepWhile(uint32_t old) {
  // `advance` writes the value before it reads `sleepers`, we the other way round: one of us sees
  // the other (both orders are sequentially consistent), and the kernel checks the value once more.
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (value.load(std::memory_order_seq_cst) == old)
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&value), FUTEX_WAIT_PRIVATE, old, nullptr,
            nullptr, 0);
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void WaitWord::advance() {
  value.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&value), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
            nullptr, 0);
}
