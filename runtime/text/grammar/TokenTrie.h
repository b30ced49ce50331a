// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokens of a vocabulary as a trie of the bytes that they stand for within a text.
#pragma once

#include "text/Tokenizer.h"

namespace attn::grammar {

/// The vocabulary that grammars choose from; read-only once it is filled. The tokenizer has to live
/// as long.
class TokenTrie {
public:
  /// Tokens of more bytes are never allowed.
  static constexpr size_t longestToken = 255;

  /// A node of the trie, in the order of a walk that visits a node before those below it.
  struct Node {
    uint32_t end;  ///< the node behind all below this one
    int32_t token; ///< that ends here, or -1
    uint8_t byte, depth;
  };

  /// Reads the tokens; `stops` are those that may follow a text that is complete. R0710 where a
  /// decoder makes of a token what depends on those around it.
  attn_status fill(const Tokenizer &tokenizer, const int32_t *stops, size_t count, Error &error);

  /// The bytes of a token; none for those that stand for no text.
  Slice bytesOf(int32_t token) const {
    if (token < 0 || size_t(token) + 1 >= begins.size())
      return {};
    return {bytes.data() + begins[size_t(token)],
            begins[size_t(token) + 1] - begins[size_t(token)]};
  }
  bool isStop(int32_t token) const;
  /// Sets the bits of a node's token and of those with the same bytes.
  void setToken(uint32_t node, uint64_t *words) const {
    for (int32_t token = nodes[node].token; token >= 0; token = same[size_t(token)])
      words[token >> 6] |= uint64_t(1) << (token & 63);
  }
  /// One more than the largest id; words of 64 bits for as many.
  size_t size() const { return same.size(); }
  size_t words() const { return (size() + 63) / 64; }
  /// Whether `text` is the beginning of a longer token.
  bool beginsToken(Slice text) const;

  const Tokenizer *tokenizer = nullptr;
  Vector<Node> nodes;
  Vector<int32_t> same;     ///< by token: another one with the same bytes, or -1
  uint32_t roots[257] = {}; ///< by first byte: its node, or that of the next byte that has one
  size_t longest = 0;       ///< bytes of the longest token
  Vector<int32_t> stops;

private:
  /// Finds what each token stands for.
  attn_status readBytes(Error &error);
  /// Makes the nodes; false where memory is lacking.
  bool build();

  Vector<char> bytes;
  Vector<size_t> begins;
};

} // namespace attn::grammar
