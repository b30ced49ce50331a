// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A grammar, and a text that follows it, token by token.
#pragma once

#include "text/grammar/MaskCache.h"

namespace attn::grammar {

/// A grammar for a vocabulary; shared by threads. The vocabulary has to live as long.
class Grammar {
public:
  explicit Grammar(const TokenTrie &trie) : trie(trie) {}
  ~Grammar() { dispose(cache); }
  Grammar(const Grammar &) = delete;
  Grammar &operator=(const Grammar &) = delete;
  /// Takes over rules, which it prepares.
  attn_status build(Expressions &expressions, uint32_t start, Error &error);

  const TokenTrie &trie;
  Automaton automaton;
  MaskCache *cache = nullptr;
};

/// Where a text is. Serves one thread at a time.
class TokenMatcher {
public:
  explicit TokenMatcher(const Grammar &grammar) : grammar(grammar), states(grammar.automaton) {}
  /// Begins a text.
  attn_status begin(Error &error);
  attn_status copyFrom(const TokenMatcher &other, Error &error);
  /// Sets the bits of the tokens that may come next, and clears all others: words as the vocabulary
  /// has.
  attn_status mask(uint64_t *words, Error &error);
  /// Takes a token. R0715 where it is not allowed; nothing changes then.
  attn_status accept(int32_t token, Error &error);
  /// Whether the text may end here.
  bool isComplete() const { return (states[state].flags & States::Ends) != 0; }
  bool hasStopped() const { return stopped; }
  /// Tokens that have to come next, as the tokenizer would make them; none where there is a choice.
  attn_status forced(Vector<int32_t> &tokens, Error &error);

private:
  /// Calls on top of stacks that are gone into one by one, at most.
  static constexpr size_t maxGroups = 8;
  /// A walk over no more nodes than this is done at once.
  static constexpr size_t fewNodes = 3000;

  /// Adds the tokens of all configurations, whose next bytes these are, by a walk.
  bool walkAll(const ByteSet &next, uint64_t *words);
  /// Adds those of configurations with the same call on top, by the mask that is kept of them.
  bool addGroup(uint32_t call, const Config *configs, size_t count, uint64_t *words);
  /// Adds those that end the rule which was called, and go on behind the call.
  bool addBehind(const LocalMask &mask, uint32_t call, uint64_t *words);
  /// Adds those in which a count that was cut has ended.
  bool addUnknown(const LocalMask &mask, const Config *configs, size_t count, uint64_t *words);
  /// The call on top of a stack, below repetitions.
  uint32_t callOf(uint32_t frame) const;
  /// Appends the bytes that have to come next.
  bool forcedBytes(Vector<char> &bytes);
  attn_status tooMany(Error &error) const;

  const Grammar &grammar;
  States states;
  uint32_t state = 0;
  size_t keptFrames = 0;
  bool stopped = false;
  Vector<char> tail; ///< the last bytes of the text
};

} // namespace attn::grammar
