// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks within a rule: the walk over the trie with stacks that begin at the rule's call.
#include "text/grammar/MaskCache.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

MaskCache::MaskCache(const Automaton &automaton, const TokenTrie &trie)
    : trie(trie), states(automaton) {
  pthread_mutex_init(&lock, nullptr);
}

MaskCache::~MaskCache() {
  forget();
  pthread_mutex_destroy(&lock);
}

void MaskCache::forget() {
  for (LocalMask *mask : masks)
    dispose(mask);
  masks.clear();
  states.clear();
  states.frames.clear();
  bytes = 0;
}

uint32_t MaskCache::cut(uint32_t count, uint32_t flag, uint32_t &flags) const {
  // A token repeats no more often than it has bytes.
  if (count > trie.longest)
    return endless;
  if (count <= mostCounted)
    return count;
  flags |= flag;
  return mostCounted;
}

bool MaskCache::localize(const States &from, Config config, Config &local) {
  Vector<uint32_t> chain;
  uint32_t at = config.frame;
  for (; from.frames[at].flags & Frame::IsRepetition; at = from.frames[at].parent)
    if (!chain.push(at))
      return false;
  local = {config.node, 0};
  for (; !chain.empty(); chain.pop()) {
    Frame frame = from.frames[chain.back()];
    frame.parent = local.frame;
    frame.least = cut(frame.least, Frame::LeastIsCut, frame.flags);
    frame.most = cut(frame.most, Frame::MostIsCut, frame.flags);
    local.frame = states.frames.intern(frame);
    if (!local.frame)
      return false;
  }
  return true;
}

const LocalMask *MaskCache::find(const States &from, const Config *configs, size_t count) {
  if (bytes > maxBytes || states.size() > maxStates)
    forget();
  Vector<Config> locals;
  if (!locals.resize(count))
    return nullptr;
  for (size_t i = 0; i < count; ++i)
    if (!localize(from, configs[i], locals[i]))
      return nullptr;
  uint32_t state = states.stateOf(locals.data(), count);
  if (states.isLacking())
    return nullptr;
  if (!cover(masks, state))
    return nullptr;
  if (!masks[state]) {
    auto *made = create<LocalMask>();
    if (!made || !make(state, *made)) {
      dispose(made);
      return nullptr;
    }
    masks[state] = made;
    bytes += 8 * made->words.size() + 4 * (made->behind.size() + made->unknown.size()) + 1200;
  }
  return masks[state];
}

bool MaskCache::make(uint32_t state, LocalMask &mask) {
  const Automaton &automaton = states.automaton;
  ByteSet followers, next = states.nextOf(state);
  for (uint32_t i = 0; i < states[state].count; ++i) {
    Config config = states.configsOf(state)[i];
    followers.add(automaton.followers[automaton.ruleOf[config.node]]);
    for (uint32_t at = config.frame; at; at = states.frames[at].parent)
      if (states.frames[at].flags & Frame::IsRepetition)
        followers.add(
            automaton
                .followers[automaton.ruleOf[automaton.repetitions[states.frames[at].place].body]]);
  }
  if (!mask.words.resize(trie.words()) || !mask.begins.resize(257))
    return false;
  Vector<uint32_t> found;
  bool isGood = true;
  auto visit = [&](uint32_t node, uint32_t flags) {
    if (flags & States::IsUnknown)
      isGood = isGood && mask.unknown.push(node);
    if (flags & States::Ends)
      for (uint32_t i = node + 1; i < trie.nodes[node].end; i = trie.nodes[i].end)
        if (followers.has(trie.nodes[i].byte))
          isGood = isGood && found.push(i);
  };
  for (unsigned byte = 0; isGood && byte < 256; ++byte)
    if (next.has(byte) && !walk(trie, trie.roots[byte], trie.roots[byte + 1], states, state,
                                mask.words.data(), visit))
      return false;
  // By byte: count, place, fill.
  if (!isGood || states.isLacking() || !mask.behind.resize(found.size()))
    return false;
  uint32_t counts[257] = {};
  for (uint32_t node : found)
    ++counts[trie.nodes[node].byte + 1];
  for (unsigned byte = 0; byte < 256; ++byte)
    counts[byte + 1] += counts[byte];
  memcpy(mask.begins.data(), counts, sizeof counts);
  for (uint32_t node : found)
    mask.behind[counts[trie.nodes[node].byte]++] = node;
  return true;
}
