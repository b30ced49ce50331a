// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks of the tokens that are allowed within a rule, whatever has called it. Most tokens depend on
// no more than that, as XGrammar found (Dong et al., arXiv 2411.15100); the others are kept as
// nodes of the trie from which one looks with the whole stack.
#pragma once

#include "text/grammar/Walk.h"
#include <pthread.h>

namespace attn::grammar {

/// The tokens of a state within a rule.
struct LocalMask {
  Vector<uint64_t> words; ///< those that are allowed
  /// Where the rule has ended: nodes that may come next, by their bytes, those of a byte from
  /// `begins` on; to be looked at with what has called the rule.
  Vector<uint32_t> behind, begins;
  /// Nodes at which a count that was cut has ended: to be looked at with all that is known.
  Vector<uint32_t> unknown;
};

/// The masks of a grammar, made when they are needed first; shared by threads.
class MaskCache {
public:
  MaskCache(const Automaton &automaton, const TokenTrie &trie);
  ~MaskCache();
  MaskCache(const MaskCache &) = delete;
  MaskCache &operator=(const MaskCache &) = delete;

  /// Calls `use` with the mask of `count` configurations, whose stacks have the same call on top;
  /// below it they are not looked at. Null: it could not be made.
  template <typename Use>
  auto with(const States &from, const Config *configs, size_t count, Use use) {
    pthread_mutex_lock(&lock);
    auto result = use(find(from, configs, count));
    pthread_mutex_unlock(&lock);
    return result;
  }

private:
  /// Counts of repetitions are kept where a token may meet their ends, up to this.
  static constexpr uint32_t mostCounted = 32;
  /// Above these all masks are forgotten.
  static constexpr size_t maxBytes = 64 << 20, maxStates = 16384;

  /// The mask of configurations, which is made where it is new; null where memory is lacking.
  const LocalMask *find(const States &from, const Config *configs, size_t count);
  /// The configuration with a stack that begins at the call.
  bool localize(const States &from, Config config, Config &local);
  bool make(uint32_t state, LocalMask &mask);
  void forget();
  uint32_t cut(uint32_t count, uint32_t flag, uint32_t &flags) const;

  const TokenTrie &trie;
  States states;
  Vector<LocalMask *> masks; ///< by state
  size_t bytes = 0;
  pthread_mutex_t lock;
};

} // namespace attn::grammar
