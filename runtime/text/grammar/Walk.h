// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over the trie of a vocabulary with what an automaton may be doing.
#pragma once

#include "text/grammar/States.h"
#include "text/grammar/TokenTrie.h"

namespace attn::grammar {

/// Walks over the nodes from `first` to before `end`, which are siblings with all below them, from
/// the state in front of them on, and sets the bits of the tokens that are allowed. `visit` is
/// called with each node whose state has flags, and with these. False where memory is lacking, or
/// there are too many places.
template <typename Visit>
bool walk(const TokenTrie &trie, uint32_t first, uint32_t end, States &states, uint32_t state,
          uint64_t *words, Visit visit) {
  if (first >= end)
    return true;
  uint32_t path[TokenTrie::longestToken + 1];
  const TokenTrie::Node *nodes = trie.nodes.data();
  unsigned base = nodes[first].depth;
  path[0] = state;
  for (uint32_t i = first; i < end;) {
    const TokenTrie::Node &node = nodes[i];
    uint32_t next = states.step(path[node.depth - base], node.byte);
    if (next == States::dead) {
      i = node.end;
      continue;
    }
    const States::State &there = states[next];
    if (there.flags & States::HasFailed)
      return false;
    if (there.flags)
      visit(i, there.flags);
    if (node.token >= 0 && (there.count || (there.flags & States::Ends)))
      trie.setToken(i, words);
    path[node.depth - base + 1] = next;
    i = there.count ? i + 1 : node.end;
  }
  return true;
}

} // namespace attn::grammar
