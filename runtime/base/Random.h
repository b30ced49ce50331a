// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers that are the same on every machine, by seed, name and index.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attn {

/// A stream of independent numbers, one per index, from a seed and a name.
struct RandomStream {
  uint64_t key;
  RandomStream(uint64_t seed, const char *name, size_t length);
  /// values[i] = mean + scale * N(0, 1) for indices [begin, begin + count); `begin` is even. The
  /// same bits on every machine.
  void normal(int64_t begin, int64_t count, float mean, float scale, float *values) const;
  /// 64 random bits.
  uint64_t bits(uint64_t index) const;
};

} // namespace attn
