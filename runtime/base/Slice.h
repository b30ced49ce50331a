// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes that belong to someone else, and their hash.
#pragma once

#include "base/Vector.h"

namespace attn {

/// Bytes of another owner: a word of a text, a token.
struct Slice {
  const char *data = nullptr;
  size_t size = 0;

  Slice() = default;
  Slice(const char *data, size_t size) : data(data), size(size) {}
  /// The bytes of a string that ends with NUL.
  explicit Slice(const char *text) : data(text), size(strlen(text)) {}
  /// The bytes of a vector.
  explicit Slice(const Vector<char> &bytes) : data(bytes.data()), size(bytes.size()) {}

  bool operator==(const Slice &other) const {
    return size == other.size && (size == 0 || memcmp(data, other.data, size) == 0);
  }
  bool operator!=(const Slice &other) const { return !(*this == other); }
  /// Whether these are the characters of a string that ends with NUL.
  bool is(const char *text) const { return *this == Slice(text); }
  bool startsWith(const Slice &prefix) const {
    return size >= prefix.size && Slice(data, prefix.size) == prefix;
  }
  bool endsWith(const Slice &suffix) const {
    return size >= suffix.size && Slice(data + size - suffix.size, suffix.size) == suffix;
  }
  /// What is left without the first `count` bytes.
  Slice from(size_t count) const { return {data + count, size - count}; }
  /// The bytes from `begin` to before `end`.
  Slice between(size_t begin, size_t end) const { return {data + begin, end - begin}; }
  /// Takes the first line away, and gives it without its end, which may be "\r\n".
  Slice takeLine() {
    auto *newline = static_cast<const char *>(memchr(data, '\n', size));
    Slice line = between(0, newline ? size_t(newline - data) : size);
    *this = from(newline ? line.size + 1 : line.size);
    if (line.endsWith(Slice("\r")))
      --line.size;
    return line;
  }
};

/// Appends bytes; false where memory is lacking.
inline bool append(Vector<char> &to, Slice bytes) { return to.append(bytes.data, bytes.size); }

/// A hash of bytes, eight at a time; the same on every machine of this byte order.
inline uint64_t hashOf(Slice bytes) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ bytes.size;
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  const char *at = bytes.data;
  size_t left = bytes.size;
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    mix(word);
  }
  uint64_t word = 0;
  for (size_t i = 0; i < left; ++i)
    word |= uint64_t(static_cast<unsigned char>(at[i])) << (8 * i);
  mix(word);
  hash *= 0xc4ceb9fe1a85ec53u;
  return hash ^ hash >> 29;
}

} // namespace attn
