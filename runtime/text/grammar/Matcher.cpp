// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks, from those within rules and walks with whole stacks; and steps by tokens.
#include "text/grammar/Matcher.h"
#include "base/Sort.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

/// Bytes that are remembered of a text, and that are forced at a time.
static constexpr size_t mostTail = 64, mostForced = 4096;

attn_status Grammar::build(Expressions &expressions, uint32_t start, Error &error) {
  if (prepareRules(expressions, start, error) || automaton.build(expressions, start, error))
    return error.status;
  const Automaton &shared = automaton;
  const TokenTrie &tokens = trie;
  cache = create<MaskCache>(shared, tokens);
  return cache ? ATTN_OK : error.outOfMemory("a grammar");
}

attn_status TokenMatcher::tooMany(Error &error) const {
  return error.set(ATTN_BAD_INPUT, "R0714",
                   "memory is lacking, or the grammar can be followed in more than %zu ways at the "
                   "same time",
                   States::maxConfigs);
}

attn_status TokenMatcher::begin(Error &error) {
  state = states.begin();
  return states.isLacking() || (states[state].flags & States::HasFailed) ? tooMany(error) : ATTN_OK;
}

attn_status TokenMatcher::copyFrom(const TokenMatcher &other, Error &error) {
  stopped = other.stopped;
  tail.clear();
  states.clear();
  if (!states.frames.copyFrom(other.states.frames) || !append(tail, Slice(other.tail)))
    return error.outOfMemory("a text's place in a grammar");
  state = states.take(other.states, other.state);
  keptFrames = other.keptFrames;
  return states.isLacking() || (states[state].flags & States::HasFailed) ? tooMany(error) : ATTN_OK;
}

uint32_t TokenMatcher::callOf(uint32_t frame) const {
  while (states.frames[frame].flags & Frame::IsRepetition)
    frame = states.frames[frame].parent;
  return frame;
}

bool TokenMatcher::walkAll(const ByteSet &next, uint64_t *words) {
  const TokenTrie &trie = grammar.trie;
  for (unsigned byte = 0; byte < 256; ++byte)
    if (next.has(byte) && !walk(trie, trie.roots[byte], trie.roots[byte + 1], states, state, words,
                                [](uint32_t, uint32_t) {}))
      return false;
  return true;
}

bool TokenMatcher::addBehind(const LocalMask &mask, uint32_t call, uint64_t *words) {
  if (call == 0 || mask.behind.empty())
    return true; // the text ends with the rule
  Frame frame = states.frames[call];
  Config after = {frame.place, frame.parent};
  uint32_t there = states.stateOf(&after, 1);
  if (states[there].flags & States::HasFailed)
    return false;
  // The caller may end where its last call does, and so on.
  ByteSet next = states.nextOf(there);
  const TokenTrie &trie = grammar.trie;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!next.has(byte))
      continue;
    for (uint32_t i = mask.begins[byte]; i < mask.begins[byte + 1]; ++i)
      if (!walk(trie, mask.behind[i], trie.nodes[mask.behind[i]].end, states, there, words,
                [](uint32_t, uint32_t) {}))
        return false;
  }
  return true;
}

bool TokenMatcher::addUnknown(const LocalMask &mask, const Config *configs, size_t count,
                              uint64_t *words) {
  if (mask.unknown.empty())
    return true;
  const TokenTrie &trie = grammar.trie;
  uint32_t from = states.stateOf(configs, count);
  for (uint32_t node : mask.unknown) {
    uint32_t below = node;
    while (trie.nodes[below].token < 0)
      ++below;
    Slice bytes = trie.bytesOf(trie.nodes[below].token);
    uint32_t at = from;
    for (unsigned i = 0; i < trie.nodes[node].depth; ++i)
      at = states.step(at, static_cast<unsigned char>(bytes.data[i]));
    if ((states[at].flags & States::HasFailed) ||
        !walk(trie, node, trie.nodes[node].end, states, at, words, [](uint32_t, uint32_t) {}))
      return false;
  }
  return true;
}

bool TokenMatcher::addGroup(uint32_t call, const Config *configs, size_t count, uint64_t *words) {
  return grammar.cache->with(states, configs, count, [&](const LocalMask *mask) {
    if (!mask)
      return false;
    for (size_t i = 0; i < mask->words.size(); ++i)
      words[i] |= mask->words[i];
    return addBehind(*mask, call, words) && addUnknown(*mask, configs, count, words);
  });
}

attn_status TokenMatcher::mask(uint64_t *words, Error &error) {
  const TokenTrie &trie = grammar.trie;
  memset(words, 0, trie.words() * sizeof *words);
  if (isComplete())
    for (int32_t stop : trie.stops)
      words[stop >> 6] |= uint64_t(1) << (stop & 63);
  if (stopped)
    return ATTN_OK;
  state = states.keep(state);
  ByteSet next = states.nextOf(state);
  size_t width = 0, count = states[state].count;
  for (unsigned byte = 0; byte < 256; ++byte)
    width += next.has(byte) ? trie.roots[byte + 1] - trie.roots[byte] : 0;
  Vector<Config> configs;
  if (!configs.append(states.configsOf(state), count))
    return error.outOfMemory("a mask");
  // Configurations with the same call on top come together.
  sortValues(configs.begin(), configs.end(), [&](const Config &a, const Config &b) {
    uint32_t x = callOf(a.frame), y = callOf(b.frame);
    return x != y ? x < y : a < b;
  });
  size_t groups = 0;
  for (size_t i = 0; i < count; ++i)
    groups += i == 0 || callOf(configs[i].frame) != callOf(configs[i - 1].frame);
  if (width <= fewNodes || groups > maxGroups)
    return walkAll(next, words) && !states.isLacking() ? ATTN_OK : tooMany(error);
  for (size_t begin = 0, end; begin < count; begin = end) {
    uint32_t call = callOf(configs[begin].frame);
    for (end = begin + 1; end < count && callOf(configs[end].frame) == call;)
      ++end;
    if (!addGroup(call, configs.data() + begin, end - begin, words))
      return tooMany(error);
  }
  return states.isLacking() ? tooMany(error) : ATTN_OK;
}

attn_status TokenMatcher::accept(int32_t token, Error &error) {
  const TokenTrie &trie = grammar.trie;
  Slice bytes = trie.bytesOf(token);
  if (!stopped && trie.isStop(token) && isComplete()) {
    stopped = true;
    return ATTN_OK;
  }
  uint32_t at = stopped || !bytes.size ? States::dead : state;
  for (size_t i = 0; i < bytes.size && at != States::dead; ++i)
    at = states.step(at, static_cast<unsigned char>(bytes.data[i]));
  if (states.isLacking() || (states[at].flags & States::HasFailed))
    return tooMany(error);
  if (at == States::dead)
    return error.set(ATTN_BAD_INPUT, "R0715", "the grammar does not allow the token %d here",
                     int(token));
  if (!append(tail, bytes))
    return error.outOfMemory("a text's place in a grammar");
  if (tail.size() > 2 * mostTail) {
    memmove(tail.data(), tail.data() + tail.size() - mostTail, mostTail);
    tail.resize(mostTail);
  }
  state = states.keep(at);
  if (states.frames.size() > 2 * keptFrames + 256) {
    if (!states.compact(state))
      return error.outOfMemory("a text's place in a grammar");
    keptFrames = states.frames.size();
  }
  return ATTN_OK;
}

bool TokenMatcher::forcedBytes(Vector<char> &bytes) {
  uint32_t at = state;
  while (bytes.size() < mostForced && !(states[at].flags & (States::Ends | States::HasFailed))) {
    ByteSet next = states.nextOf(at);
    int only = -1, count = 0;
    for (int i = 0; i < 4; ++i) {
      count += __builtin_popcountll(next.words[i]);
      if (next.words[i])
        only = 64 * i + __builtin_ctzll(next.words[i]);
    }
    if (count != 1)
      break;
    if (!bytes.push(char(only)))
      return false;
    at = states.step(at, unsigned(only));
  }
  return true;
}

attn_status TokenMatcher::forced(Vector<int32_t> &tokens, Error &error) {
  tokens.clear();
  Vector<char> bytes;
  if (stopped)
    return ATTN_OK;
  if (!forcedBytes(bytes))
    return error.outOfMemory("tokens that are forced");
  state = states.keep(state);
  const TokenTrie &trie = grammar.trie;
  // The tokens of all that is known, where one begins behind what is there already; else those of
  // what is new alone.
  for (bool isWhole : {true, false}) {
    Vector<char> text;
    size_t begin = isWhole ? tail.size() : 0, at = 0;
    if (!append(text, isWhole ? Slice(tail) : Slice("", size_t(0))) || !append(text, Slice(bytes)))
      return error.outOfMemory("tokens that are forced");
    Encoding encoding;
    if (bytes.empty() ||
        trie.tokenizer->encode(Slice(text), nullptr, ATTN_TEXT_SPECIAL_AS_TEXT, encoding, error))
      return error.status;
    bool fits = true;
    for (size_t i = 0; fits && i < encoding.size() && at < text.size(); ++i) {
      Slice token = trie.bytesOf(encoding.ids[i]);
      fits = token.size && Slice(text).from(at).startsWith(token) &&
             (at >= begin || at + token.size <= begin);
      // A token that could go on beyond what is known may be another one.
      if (fits && at >= begin &&
          (trie.beginsToken(Slice(text).from(at)) || !tokens.push(encoding.ids[i])))
        break;
      at += token.size;
    }
    if (fits)
      return ATTN_OK;
    tokens.clear();
  }
  return ATTN_OK;
}
