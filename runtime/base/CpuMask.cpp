// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks by the system calls: the C library's cpu_set_t has room for 1,024 CPUs only.
#include "base/CpuMask.h"
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

using namespace attn;

CpuMask CpuMask::ofCaller() {
  CpuMask mask; // cpu_set_t has room for 1024 only
  syscall(SYS_sched_getaffinity, 0, sizeof mask.words, mask.words);
  return mask;
}

int32_t CpuMask::count() const {
  int32_t total = 0;
  for (unsigned long word : words)
    total += __builtin_popcountl(word);
  return total;
}

bool CpuMask::operator==(const CpuMask &other) const {
  return memcmp(words, other.words, sizeof words) == 0;
}

CpuMask CpuMask::without(const CpuMask &others) const {
  CpuMask result;
  for (int32_t i = 0; i < most / wordBits; ++i)
    result.words[i] = words[i] & ~others.words[i];
  return result;
}

CpuMask CpuMask::of(int32_t cpu) {
  CpuMask result;
  result.add(cpu);
  return result;
}

void CpuMask::bindCaller() const { syscall(SYS_sched_setaffinity, 0, sizeof words, words); }
