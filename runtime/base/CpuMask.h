// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The affinity of threads: the CPUs that the kernel lets them run on.
#pragma once

#include <cstdint>

namespace attn {

/// CPUs that a thread may run on, as the kernel tells.
struct CpuMask {
  static constexpr int32_t most = 8192;
  static constexpr int32_t wordBits = 8 * sizeof(unsigned long);
  unsigned long words[most / wordBits] = {};

  /// The CPUs that the calling thread may use; empty where the kernel does not say.
  static CpuMask ofCaller();
  int32_t count() const;
  bool operator==(const CpuMask &other) const;
  bool holds(int32_t cpu) const { return words[cpu / wordBits] >> cpu % wordBits & 1; }
  void add(int32_t cpu) { words[cpu / wordBits] |= 1ul << cpu % wordBits; }
  /// The mask of one CPU alone.
  static CpuMask of(int32_t cpu);
  CpuMask without(const CpuMask &others) const;
  /// Binds the calling thread; where the kernel refuses, it runs where it did.
  void bindCaller() const;
};

} // namespace attn
