// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokens of a vocabulary, by number and by their bytes.
#pragma once

#include "base/Arena.h"
#include "base/Slice.h"

namespace attn {

/// Ids are below this.
constexpr int64_t maxTokens = 1 << 22;

/// Tokens by id, and ids by token. Ids may leave gaps. Owns the tokens' bytes.
class Vocabulary {
public:
  /// Makes `bytes` the token of `id`, which has to be from 0 to maxTokens - 1. Where two ids have
  /// the same bytes, these find the id that came last. False where memory is lacking.
  bool add(int32_t id, Slice bytes);
  /// Room for `count` tokens.
  bool reserve(size_t count);
  /// The id of a token, or -1.
  int32_t find(Slice bytes) const;
  /// The token of an id: bytes, or null data where there is none.
  Slice token(int64_t id) const {
    return id >= 0 && size_t(id) < tokens.size() ? tokens[size_t(id)] : Slice();
  }
  /// One more than the largest id.
  size_t size() const { return tokens.size(); }
  /// Bytes of the longest token.
  size_t longest() const { return longestToken; }

private:
  /// An id, and the upper half of its token's hash; id -1: free.
  struct Slot {
    int32_t id;
    uint32_t hash;
  };
  /// Makes a table of so many places.
  bool grow(size_t slots);

  Arena arena;
  Vector<Slice> tokens;
  Vector<Slot> slots; ///< a power of two, at most half of them taken
  size_t used = 0, longestToken = 0;
};

/// From a pair of ids to a rank and an id: the merges of BPE.
class PairTable {
public:
  /// What a pair becomes.
  struct Merge {
    uint32_t rank = 0;
    int32_t id = -1; ///< -1: the pair is not in the table
  };
  /// Adds a pair, or replaces what it becomes; false where memory is lacking.
  bool add(int32_t left, int32_t right, Merge merge);
  bool reserve(size_t count);
  Merge find(int32_t left, int32_t right) const {
    if (slots.empty())
      return {};
    uint64_t key = keyOf(left, right);
    size_t mask = slots.size() - 1;
    for (size_t at = placeOf(key) & mask;; at = (at + 1) & mask) {
      if (slots[at].key == key)
        return slots[at].merge;
      if (slots[at].key == freeSlot)
        return {};
    }
  }

private:
  /// A pair and what it becomes.
  struct Slot {
    uint64_t key;
    Merge merge;
  };
  static constexpr uint64_t freeSlot = ~uint64_t(0);
  /// A pair as one number.
  static uint64_t keyOf(int32_t left, int32_t right) {
    return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
  }
  /// Where the search for a pair begins, before it is cut to the table's size.
  static size_t placeOf(uint64_t key) {
    key *= 0x9e3779b97f4a7c15u;
    return size_t(key ^ key >> 29);
  }
  /// Makes a table of so many places.
  bool grow(size_t count);

  Vector<Slot> slots; ///< a power of two, at most half of them taken
  size_t used = 0;
};

/// A trie over bytes, whose nodes are numbers and 0 the root.
class ByteTrie {
public:
  /// Adds a string with a value of at least 0, or replaces its value; false where memory is
  /// lacking.
  bool add(Slice bytes, int32_t value);
  /// The node behind `node` by a byte, or 0 where there is none.
  uint32_t step(uint32_t node, unsigned char byte) const {
    PairTable::Merge found = edges.find(int32_t(node), byte);
    return found.id < 0 ? 0 : uint32_t(found.id);
  }
  /// The value of the string that ends in a node, or -1.
  int32_t value(uint32_t node) const { return values[node]; }
  bool empty() const { return values.size() <= 1; }
  /// Whether some string begins with this byte.
  bool begins(unsigned char byte) const { return firsts[byte]; }
  /// The value of the longest string that `text` begins with, or -1.
  int32_t longest(Slice text, size_t &length) const;

private:
  PairTable edges;
  Vector<int32_t> values;
  bool firsts[256] = {};
};

} // namespace attn
