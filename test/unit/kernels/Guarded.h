// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <sys/mman.h>
#include <vector>

namespace attn::test {

/// Elements that end where memory ends, or less than `alignment` bytes before: what is read or
/// written beyond is a fault.
template <typename T> class Guarded {
public:
  explicit Guarded(const std::vector<T> &values, size_t alignment = sizeof(T))
      : count(values.size()), room(rounded(count * sizeof(T), alignment)),
        pages(rounded(room, pageBytes)) {
    base = static_cast<char *>(mmap(nullptr, pages + 2 * pageBytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base, pageBytes, PROT_NONE);
    mprotect(base + pageBytes + pages, pageBytes, PROT_NONE);
    std::copy(values.begin(), values.end(), begin());
  }
  Guarded(const Guarded &) = delete;
  ~Guarded() { munmap(base, pages + 2 * pageBytes); }

  T *begin() const { return reinterpret_cast<T *>(base + pageBytes + pages - room); }
  T *end() const { return begin() + count; }

private:
  static constexpr size_t pageBytes = 4096;
  static size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

  size_t count, room, pages;
  char *base;
};

} // namespace attn::test
