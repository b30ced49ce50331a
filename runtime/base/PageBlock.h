// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of whole pages, for what is large: packed weights, workspaces, caches.
#pragma once

#include <cstdint>

namespace attn {

/// Zeroed memory straight from the kernel.
class PageBlock {
public:
  /// Large: at 2 MB boundaries with pages of that size, where it is that large. Small: a page of 4
  /// KB is there once it is written, which suits what is filled bit by bit.
  enum class Pages { Large, Small };

  PageBlock() = default;
  PageBlock(const PageBlock &) = delete;
  PageBlock &operator=(const PageBlock &) = delete;
  ~PageBlock() { reset(); }
  /// Replaces the block by one of at least `bytes` zeros; false, and none, where memory is lacking.
  bool allocate(uint64_t bytes, Pages pages = Pages::Large);
  void reset();
  void swap(PageBlock &other);
  char *data() const { return bytes; }
  uint64_t size() const { return length; }

private:
  void *map = nullptr;
  uint64_t mapLength = 0;
  char *bytes = nullptr;
  uint64_t length = 0;
};

} // namespace attn
