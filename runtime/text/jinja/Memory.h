// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a template may use: bytes and steps, both bounded, so that none runs forever or takes all
// memory. What is taken lives as long as the run.
#pragma once

#include "base/Slice.h"

namespace attn::jinja {

/// Memory of one template or one run of it, freed all at once, and a count of the steps.
class Memory {
public:
  Memory() = default;
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory();

  /// Bytes at a multiple of 8, zeros; null where the bound is reached or memory is lacking.
  void *take(size_t bytes);
  /// A new T, value-initialized; null as above.
  template <typename T> T *make(size_t count = 1) {
    static_assert(std::is_trivially_destructible<T>::value, "nothing is destroyed");
    if (count > mostBytes / sizeof(T))
      return nullptr;
    auto *made = static_cast<T *>(take(count * sizeof(T)));
    for (size_t i = 0; made && i < count; ++i)
      new (made + i) T();
    return made;
  }
  /// A copy; its data are null where the bound is reached or memory is lacking.
  Slice copy(Slice bytes);

  /// Counts work of about `bytes` bytes; false where there have been too many steps.
  bool step(size_t bytes = 0) { return (steps += 1 + bytes / 16) <= mostSteps; }
  /// What is said where one of these has failed.
  const char *problem() const;

  static constexpr size_t mostBytes = size_t(1) << 28;
  static constexpr uint64_t mostSteps = 20000000;

private:
  Vector<char *> blocks;
  size_t used = 0, room = 0, total = 0;
  uint64_t steps = 0;
};

} // namespace attn::jinja
