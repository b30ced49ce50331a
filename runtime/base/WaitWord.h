// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A counter in memory that threads wait on, by spinning for a bounded time, then by a futex.
#pragma once

#include <atomic>
#include <cstdint>

namespace attn {

/// A counter that threads wait on until it changes.
class alignas(128) WaitWord {
public:
  /// The counter's value, with all that was written before it was advanced.
  uint32_t load() const { return value.load(std::memory_order_acquire); }
  /// Waits until the counter is no longer `old`, for at most about `spinTicks`: is it?
  bool spinWhile(uint32_t old, uint64_t spinTicks) const;
  /// Returns when the counter is no longer `old`.
  void sleepWhile(uint32_t old);
  /// Adds one and wakes those that sleep.
  void advance();

private:
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
};

} // namespace attn
